//! A panic as one line and an exit code, never as its own message.

use crate::crew;
use crate::error::{Result, RunError, exit};
use llm_core::message;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

/// Keeps what a panic says until it is caught. A program's `main` installs the hook:
///
/// ```
/// let panics = llm_cli::Panics::default();
/// std::panic::set_hook(panics.hook());
/// let code = panics.catch(|| panic!("planted"));
/// assert_eq!(format!("{code:?}"), format!("{:?}", std::process::ExitCode::from(70)));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Panics(Arc<Mutex<String>>);

/// What `std::panic::set_hook` takes.
pub type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

impl Panics {
    /// Keeps message and place of a panic, on whatever thread it begins, and prints nothing.
    pub fn hook(&self) -> Hook {
        let Panics(message) = self.clone();
        Box::new(move |info| {
            *message.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string();
        })
    }

    /// Does `f`; a panic becomes a line on standard error and an exit code.
    pub fn catch(&self, f: impl FnOnce() -> ExitCode) -> ExitCode {
        self.caught(f).unwrap_or_else(|e| {
            let code = e.kind().code();
            let exit = exit(Err(e));
            crew::abandon(code);
            exit
        })
    }

    /// Turns a panic into an error with its message and place.
    pub(crate) fn caught<T>(&self, f: impl FnOnce() -> T) -> Result<T> {
        catch_unwind(AssertUnwindSafe(f)).map_err(|payload| {
            // Memory that ran out on the way unwinds with the library's own error.
            let Ok(error) = payload.downcast::<llm_core::Error>() else {
                let message = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                return RunError::Internal(message.clone().into());
            };
            RunError::Memory(*error, message!("--dmodel, --layers, --batch or --seq"))
        })
    }
}
