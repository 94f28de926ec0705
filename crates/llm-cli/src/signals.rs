//! Ctrl-C and its relatives: the first asks to finish the step and save, the second stops at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Which signal came, if any.
#[derive(Clone, Debug, Default)]
pub struct Signals(Arc<AtomicUsize>);

impl Signals {
    /// Listens from now on. Where the system refuses, the default behaviour stays.
    pub fn listen() -> Signals {
        let which = Arc::new(AtomicUsize::new(0));
        let armed = Arc::new(AtomicBool::new(false));
        for signal in signals() {
            // In this order: the shutdown is conditional on an earlier signal having armed it.
            let exit = 128 + signal;
            let _ = signal_hook::flag::register_conditional_shutdown(signal, exit, armed.clone());
            let _ = signal_hook::flag::register(signal, armed.clone());
            let _ = signal_hook::flag::register_usize(signal, which.clone(), signal as usize);
        }
        #[cfg(unix)]
        ignore_file_size_limit();
        Signals(which)
    }

    /// The number of the signal that asked to stop.
    pub fn pending(&self) -> Option<u8> {
        match self.0.load(Ordering::SeqCst) {
            0 => None,
            n => Some(n as u8),
        }
    }

    /// `Err(CliError::Signal)` once a signal has come.
    pub fn check(&self) -> crate::Result<()> {
        self.pending().map_or(Ok(()), |n| Err(crate::CliError::Signal(n)))
    }
}

/// Beyond a file size limit the system sends a signal that kills. With a handler in its place the
/// write fails with an error, which is reported like any other.
#[cfg(unix)]
fn ignore_file_size_limit() {
    use signal_hook::consts::signal;
    let unused = Arc::new(AtomicBool::new(false));
    let _ = signal_hook::flag::register(signal::SIGXFSZ, unused);
}

#[cfg(unix)]
fn signals() -> Vec<i32> {
    use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM};
    vec![SIGINT, SIGTERM, SIGHUP]
}

#[cfg(not(unix))]
fn signals() -> Vec<i32> {
    use signal_hook::consts::signal::{SIGINT, SIGTERM};
    vec![SIGINT, SIGTERM]
}
