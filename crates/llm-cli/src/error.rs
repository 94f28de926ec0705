//! What ends a command early: one line for the person, one number for the shell.

#[cfg(test)]
#[cfg(unix)]
mod tests;

use crate::messages::said;
use crate::voice;
use llm_core::base::CrewError;
use llm_core::{Error, IoAction};
use llm_messages::escape::one_line;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// `Result` with [`CliError`].
pub type Result<T> = std::result::Result<T, CliError>;

/// Exit codes, the same for every command. 128 + n is added for signal n.
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
    /// Several processes were started that cannot speak with each other.
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
}

/// Why a command stopped.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// Flags that cannot be, with what to do instead.
    #[error("{0}")]
    Usage(String),
    /// Data that cannot be used.
    #[error("{0}")]
    Data(String),
    /// An input that cannot be read.
    #[error("cannot read '{}': {why}", .path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// The reason and what to do.
        why: String,
    },
    /// An output that cannot be created.
    #[error("cannot write '{}': {why}; nothing was trained, choose another --save or --out", .path.display())]
    Create {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// Another run writes there.
    #[error("'{}' is in use by another run; wait for it, or choose another --save or --out", .path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// Too little memory, with the flags that make the size.
    #[error("{0}; lower {1}")]
    Memory(Error, &'static str),
    /// Fewer threads than were asked for can be had.
    #[error("--threads {0}: the system does not give so many; try fewer")]
    Threads(usize),
    /// Standard output failed (other than by being closed).
    #[error("cannot write to standard output: {}", system_reason(.0))]
    Stdout(io::Error),
    /// From the library.
    #[error("{source}{hint}")]
    Core {
        /// What it said.
        source: Error,
        /// What is kept and what to do, beginning with `; ` or `: `, or nothing.
        hint: String,
    },
    /// One step after the other stood out and was skipped.
    #[error("{skipped} steps in a row were skipped as spikes, the last at step {step}; {kept}")]
    Spikes {
        /// Steps done.
        step: u64,
        /// How many.
        skipped: u32,
        /// What is kept and what to do.
        kept: String,
    },
    /// The model's first choice is right less often than `--min-acc` asks for.
    #[error(
        "--min-acc {wanted}: {right} of {count} first choices are right; train longer, or ask for less"
    )]
    Accuracy {
        /// First choices that came.
        right: usize,
        /// Places looked at.
        count: usize,
        /// The share that was asked for.
        wanted: f64,
    },
    /// Several processes were started that cannot speak with each other.
    #[error("{0}")]
    NoCrew(String),
    /// Another process of the same run says why it ends, and with which code.
    #[error("another process ended the run")]
    Elsewhere(u8),
    /// A signal stopped the run; it was handled and reported.
    #[error("stopped by signal {0}")]
    Signal(u8),
    /// A fault of this program.
    #[error("internal: {0}; this is a fault of the program, please report it")]
    Internal(String),
}

impl From<Error> for CliError {
    fn from(source: Error) -> CliError {
        let hint = match source {
            Error::NumbersOnly => {
                ": generate takes --prompt-ids; for text, import it again with its tokenizer's files"
            }
            _ => "",
        };
        CliError::Core { source, hint: hint.into() }
    }
}

impl CliError {
    /// Through the library's loop, and back by [`CliError::of_hook`].
    pub fn in_hook(self) -> Error {
        Error::Hook(Box::new(self))
    }

    /// The error of a run: a hook's own as it was, anything else from the library.
    pub fn of_hook(error: Error) -> CliError {
        match error {
            Error::Hook(own) => match own.downcast::<CliError>() {
                Ok(own) => *own,
                Err(foreign) => CliError::from(Error::Hook(foreign)),
            },
            other => CliError::from(other),
        }
    }

    /// The same library error, with what is kept or what to do.
    pub fn hint(source: Error, hint: impl std::fmt::Display) -> CliError {
        CliError::Core { source, hint: format!("; {hint}") }
    }

    /// A file or a folder that cannot be made, with what to do.
    pub(crate) fn not_created(path: &Path, source: io::Error, hint: &str) -> CliError {
        CliError::hint(Error::io(IoAction::Create, path, source), hint)
    }

    /// The same in a verb that saves no run: what did not happen, and which flag to change.
    pub(crate) fn of_verb(self, hint: &str) -> CliError {
        match self {
            CliError::Create { path, why } => {
                CliError::not_created(&path, io::Error::other(why), hint)
            }
            other => other,
        }
    }

    /// The number for the shell.
    pub fn exit_code(&self) -> u8 {
        match self {
            CliError::Usage(_) => code::USAGE,
            CliError::Data(_) => code::BAD_DATA,
            CliError::Input { .. } => code::NO_INPUT,
            CliError::Create { .. } => code::CANNOT_CREATE,
            CliError::Busy { .. } => code::BUSY,
            CliError::Memory(..) | CliError::Threads(_) => code::NO_MEMORY,
            CliError::Stdout(_) => code::IO,
            CliError::Spikes { .. } | CliError::Accuracy { .. } => code::DIVERGED,
            CliError::NoCrew(_) => code::UNAVAILABLE,
            CliError::Elsewhere(code) => *code,
            CliError::Signal(n) => 128 + n,
            CliError::Internal(_) => code::INTERNAL,
            CliError::Core { source, .. } => match source {
                Error::Config { .. } | Error::Crew(CrewError::Size { .. }) => code::USAGE,
                Error::Diverged { .. } | Error::Unusable { .. } => code::DIVERGED,
                Error::Checkpoint { .. }
                | Error::DataTooSmall { .. }
                | Error::TokenOutOfRange { .. }
                | Error::UnknownUnit { .. }
                | Error::NumbersOnly
                | Error::Tokenizer { .. }
                | Error::Logits { .. } => code::BAD_DATA,
                Error::Memory { .. } => code::NO_MEMORY,
                Error::Io { action: IoAction::Read, source, .. } => match source.kind() {
                    io::ErrorKind::InvalidData => code::BAD_DATA,
                    _ => code::NO_INPUT,
                },
                Error::Io { action: IoAction::Create, .. } => code::CANNOT_CREATE,
                Error::Io { .. }
                | Error::Crew(CrewError::Silent { .. } | CrewError::Gone { .. }) => code::IO,
                _ => code::INTERNAL,
            },
        }
    }

    /// The line for the person, without line breaks or control characters, whatever names it
    /// contains.
    pub fn line(&self) -> String {
        format!("error: {}", self.message())
    }

    /// The error and its causes, as a part of a line.
    pub fn message(&self) -> String {
        let mut text = match self {
            CliError::Core { source, hint } => {
                let mut text = source.to_string();
                let mut cause = std::error::Error::source(source);
                while let Some(e) = cause {
                    text.push_str(&format!(": {}", plain_reason(&e.to_string())));
                    cause = e.source();
                }
                text + hint
            }
            other => other.to_string(),
        };
        // serde and the system end some messages with a full stop or a line break.
        text.truncate(text.trim_end_matches(['.', '\n', ' ']).len());
        one_line(&text)
    }
}

/// The system's reason, without its number and without the name of a temporary file.
pub fn system_reason(e: &io::Error) -> String {
    plain_reason(&e.to_string())
}

/// [`system_reason`] of a message.
pub fn plain_reason(text: &str) -> String {
    let plain = text.split(" (os error").next().unwrap_or(text);
    let mut chars = plain.chars();
    chars.next().map_or_else(String::new, |c| c.to_lowercase().chain(chars).collect())
}

/// The exit code of a command; what it failed for is a line on standard error.
pub(crate) fn exit(result: Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::from(code::OK),
        Err(e) => {
            // What a signal interrupted has been reported where it happened.
            if !matches!(e, CliError::Signal(_) | CliError::Elsewhere(_)) {
                // A failure to write is ignored: there is nowhere to report it.
                let line = voice::prefix() + &said(&e.line());
                let _ = writeln!(io::stderr().lock(), "{line}");
            }
            ExitCode::from(e.exit_code())
        }
    }
}
