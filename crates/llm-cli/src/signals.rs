//! Ctrl-C and its relatives: the first asks to finish the step and save, the second stops at once.

use crate::error::{Result, RunError};
/// Windows sends no SIGTERM from outside. Ctrl-Break is SIGBREAK; so is a window that is closed, but
/// then Windows ends the program before the step is done.
#[cfg(not(unix))]
use signal_hook::consts::signal::SIGBREAK as CLOSED;
#[cfg(unix)]
use signal_hook::consts::signal::SIGHUP as CLOSED;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Which signal came, if any.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    /// Number of the signal that came; 0: none.
    which: Arc<AtomicUsize>,
    /// The next one ends the program at once.
    at_once: Arc<AtomicBool>,
}

impl Signals {
    /// Listens from now on. The first signal ends the program at once, with that signal's exit code,
    /// until [`Signals::heed`]. Where the system refuses, the default behaviour stays; what the
    /// parent process had ignored, as `nohup` does, stays ignored.
    pub fn listen() -> Signals {
        let signals = Signals { which: Arc::default(), at_once: Arc::new(AtomicBool::new(true)) };
        let Signals { which, at_once } = &signals;
        for signal in [SIGINT, SIGTERM, CLOSED].into_iter().filter(|&signal| !is_ignored(signal)) {
            // In this order: the shutdown is conditional on an earlier signal having armed it.
            let exit = 128 + signal;
            let _ = signal_hook::flag::register_conditional_shutdown(signal, exit, at_once.clone());
            let _ = signal_hook::flag::register(signal, at_once.clone());
            let _ = signal_hook::flag::register_usize(signal, which.clone(), signal as usize);
        }
        // Beyond a file size limit the system sends a signal that kills. With a handler in its place
        // the write fails with an error, which is reported like any other.
        #[cfg(unix)]
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
        signals
    }

    /// The number of the signal that asked to stop.
    pub fn pending(&self) -> Option<u8> {
        Some(self.which.load(Ordering::SeqCst) as u8).filter(|&signal| signal != 0)
    }

    /// From now on whoever works asks [`Signals::pending`]: the first signal ends nothing by itself.
    /// To be called where such work begins, after all reading, which never asks.
    pub fn heed(&self) {
        self.at_once.store(self.pending().is_some(), Ordering::SeqCst);
    }

    /// Goes on as if no Ctrl-C had come; any other signal stays.
    pub fn forget_interrupt(&self) {
        let (interrupt, order) = (SIGINT as usize, Ordering::SeqCst);
        let _ = self.which.compare_exchange(interrupt, 0, order, order);
        self.heed();
    }

    /// `Err(RunError::Signal)` once a signal has come.
    pub fn check(&self) -> Result<()> {
        self.pending().map_or(Ok(()), |n| Err(RunError::Signal(n)))
    }

    /// Does `f`, which may take long and makes nothing that could be lost, amid work that heeds
    /// signals: reading. The first signal ends the program at once, with that signal's exit code.
    ///
    /// # Errors
    /// [`RunError::Signal`] when one came before; what `f` says.
    pub fn reading<T>(&self, f: impl FnOnce() -> Result<T>) -> Result<T> {
        self.at_once.store(true, Ordering::SeqCst);
        self.check()?;
        let done = f();
        self.heed();
        done
    }
}

/// Whether this program was started with the signal ignored. Only Linux says so to who does not
/// set a handler; elsewhere there is no such file.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ctrl-C amid an answer is over with the answer; another signal is not.
    #[test]
    fn ctrl_c_alone_is_forgotten() {
        for (signal, left) in [(0, None), (SIGINT, None), (SIGTERM, Some(SIGTERM as u8))] {
            let signals = Signals::default();
            signals.which.store(signal as usize, Ordering::SeqCst);
            signals.at_once.store(signal != 0, Ordering::SeqCst);
            signals.forget_interrupt();
            assert_eq!(signals.pending(), left);
            assert_eq!(signals.at_once.load(Ordering::SeqCst), left.is_some());
        }
    }
}
