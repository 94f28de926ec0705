//! What ends a command early: one line for the person, one number for the shell.

#[cfg(test)]
#[cfg(unix)]
mod tests;

use crate::looks;
use crate::messages::{said, spelled};
use crate::voice;
use llm_core::base::escape::one_line;
use llm_core::base::{Message, with_causes};
use llm_core::{Error, message};
use std::io::{self, Write};
use std::process::ExitCode;

pub use llm_run::error::{Kind, Result, RunError, foreign};

/// Exit codes.
pub mod code {
    /// Everything that was asked for is done.
    pub const OK: u8 = 0;
    /// Flags that cannot be.
    pub const USAGE: u8 = 2;
    /// The loss or a gradient is no longer finite, or the model is worse than was asked for.
    pub const DIVERGED: u8 = 3;
    /// Data or a checkpoint that cannot be used.
    pub const BAD_DATA: u8 = 65;
    /// An input file that is missing or unreadable.
    pub const NO_INPUT: u8 = 66;
    /// Several processes were started that cannot speak with each other, or there is no such GPU.
    pub const UNAVAILABLE: u8 = 69;
    /// A fault of this program.
    pub const INTERNAL: u8 = 70;
    /// Not enough memory.
    pub const NO_MEMORY: u8 = 71;
    /// Output that cannot be created.
    pub const CANNOT_CREATE: u8 = 73;
    /// Reading or writing failed on the way.
    pub const IO: u8 = 74;
    /// Another run writes the same output.
    pub const BUSY: u8 = 75;

    /// The number for the shell.
    pub fn of(e: &super::RunError) -> u8 {
        use super::Kind;
        match e.kind() {
            Kind::Usage => USAGE,
            Kind::Diverged => DIVERGED,
            Kind::BadData => BAD_DATA,
            Kind::NoInput => NO_INPUT,
            Kind::Unavailable => UNAVAILABLE,
            Kind::Internal => INTERNAL,
            Kind::NoMemory => NO_MEMORY,
            Kind::CannotCreate => CANNOT_CREATE,
            Kind::Io => IO,
            Kind::Busy => BUSY,
            Kind::Elsewhere(code) => code,
            Kind::Signal(n) => 128 + n,
        }
    }
}

/// The line for the person, without line breaks or control characters, whatever names it contains.
pub fn line(e: &RunError) -> String {
    format!("error: {}", reason(e))
}

/// The error and its causes, as a part of a line.
pub fn reason(e: &RunError) -> String {
    let text = spelled(&sentence(e));
    // serde and the system end some messages with a full stop or a line break.
    one_line(text.trim_end_matches(['.', '\n', ' ']))
}

/// [`line`] in the language that was chosen.
fn shown(e: &RunError) -> String {
    // serde and the system end some messages with a full stop or a line break.
    let text = said(message!("error: {}", sentence(e)));
    one_line(text.trim_end_matches(['.', '\n', ' ']))
}

/// The sentence of an error, with the verb or the flag that helps where a library knows of none.
pub(crate) fn sentence(e: &RunError) -> Message {
    match e {
        RunError::Foreign { path, look } => {
            message!("'{}': {}", path.display(), looks::instead(*look))
        }
        RunError::Core { source: source @ Error::NumbersOnly, hint: None } => message!(
            "{}: generate takes --prompt-ids; for text, import it again with its tokenizer's files",
            with_causes(source)
        ),
        other => other.message(),
    }
}

/// The same library error in a verb that saves no run: what did not happen, and which flag to change.
pub(crate) fn of_verb(e: RunError, hint: impl Into<Message>) -> RunError {
    match e {
        RunError::Create { path, why } => {
            RunError::not_created(&path, io::Error::other(why.to_string()), hint)
        }
        other => other,
    }
}

/// The exit code of a command; what it failed for is a line on standard error.
pub(crate) fn exit(result: Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::from(code::OK),
        Err(e) => {
            // What a signal interrupted has been reported where it happened.
            if !matches!(e, RunError::Signal(_) | RunError::Elsewhere(_)) {
                // A failure to write is ignored: there is nowhere to report it.
                let line = voice::prefix() + &shown(&e);
                let _ = writeln!(io::stderr().lock(), "{line}");
            }
            ExitCode::from(code::of(&e))
        }
    }
}
