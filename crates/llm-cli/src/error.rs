//! What ends a command early: one line for the person, one number for the shell.

#[cfg(test)]
#[cfg(unix)]
mod tests;

use crate::messages::said;
use crate::voice;
use llm_core::base::{CrewError, Message};
use llm_core::{Error, IoAction, message};
use llm_messages::escape::one_line;
use std::fmt;
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
#[derive(Debug)]
pub enum CliError {
    /// Flags that cannot be, with what to do instead.
    Usage(Message),
    /// Data that cannot be used.
    Data(Message),
    /// An input that cannot be read.
    Input {
        /// The file.
        path: PathBuf,
        /// The reason and what to do.
        why: Message,
    },
    /// An output that cannot be created.
    Create {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        why: Message,
    },
    /// Another run writes there.
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// Too little memory, with the flags that make the size.
    Memory(Error, Message),
    /// Fewer threads than were asked for can be had.
    Threads(usize),
    /// Standard output failed (other than by being closed).
    Stdout(io::Error),
    /// From the library.
    Core {
        /// What it said.
        source: Error,
        /// What is kept and what to do.
        hint: Option<Message>,
    },
    /// One step after the other stood out and was skipped.
    Spikes {
        /// Steps done.
        step: u64,
        /// How many.
        skipped: u32,
        /// What is kept and what to do.
        kept: Message,
    },
    /// The model's first choice is right less often than `--min-acc` asks for.
    Accuracy {
        /// First choices that came.
        right: usize,
        /// Places looked at.
        count: usize,
        /// The share that was asked for.
        wanted: f64,
    },
    /// Several processes were started that cannot speak with each other.
    NoCrew(Message),
    /// Another process of the same run says why it ends, and with which code.
    Elsewhere(u8),
    /// A signal stopped the run; it was handled and reported.
    Signal(u8),
    /// A fault of this program.
    Internal(Message),
}

impl From<Error> for CliError {
    fn from(source: Error) -> CliError {
        let hint = matches!(source, Error::NumbersOnly).then(|| {
            message!(
                "generate takes --prompt-ids; for text, import it again with its tokenizer's files"
            )
        });
        CliError::Core { source, hint }
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
    pub fn hint(source: Error, hint: impl Into<Message>) -> CliError {
        CliError::Core { source, hint: Some(hint.into()) }
    }

    /// A file or a folder that cannot be made, with what to do.
    pub(crate) fn not_created(
        path: &Path,
        source: io::Error,
        hint: impl Into<Message>,
    ) -> CliError {
        CliError::hint(Error::io(IoAction::Create, path, source), hint)
    }

    /// The same in a verb that saves no run: what did not happen, and which flag to change.
    pub(crate) fn of_verb(self, hint: impl Into<Message>) -> CliError {
        match self {
            CliError::Create { path, why } => {
                CliError::not_created(&path, io::Error::other(why.to_string()), hint)
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
        let text = self.sentence().to_string();
        // serde and the system end some messages with a full stop or a line break.
        one_line(text.trim_end_matches(['.', '\n', ' ']))
    }

    /// The sentence for the person.
    fn sentence(&self) -> Message {
        match self {
            CliError::Usage(why) | CliError::Data(why) | CliError::NoCrew(why) => why.clone(),
            CliError::Input { path, why } => message!("cannot read '{}': {}", path.display(), why),
            CliError::Create { path, why } => message!(
                "cannot write '{}': {}; nothing was trained, choose another --save or --out",
                path.display(),
                why
            ),
            CliError::Busy { path } => message!(
                "'{}' is in use by another run; wait for it, or choose another --save or --out",
                path.display()
            ),
            CliError::Memory(e, flags) => message!("{}; lower {}", of_library(e), flags),
            CliError::Threads(n) => {
                message!("--threads {}: the system does not give so many; try fewer", n)
            }
            CliError::Stdout(e) => {
                message!("cannot write to standard output: {}", system_reason(e))
            }
            CliError::Core { source, hint: None } => of_library(source),
            CliError::Core { source: source @ Error::NumbersOnly, hint: Some(hint) } => {
                message!("{}: {}", of_library(source), hint)
            }
            CliError::Core { source, hint: Some(hint) } => {
                message!("{}; {}", of_library(source), hint)
            }
            CliError::Spikes { step, skipped, kept } => message!(
                "{} steps in a row were skipped as spikes, the last at step {}; {}",
                skipped,
                step,
                kept
            ),
            CliError::Accuracy { right, count, wanted } => message!(
                "--min-acc {}: {} of {} first choices are right; train longer, or ask for less",
                wanted,
                right,
                count
            ),
            CliError::Elsewhere(_) => message!("another process ended the run"),
            CliError::Signal(n) => message!("stopped by signal {}", n),
            CliError::Internal(why) => {
                message!("internal: {}; this is a fault of the program, please report it", why)
            }
        }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentence().fmt(f)
    }
}

impl std::error::Error for CliError {}

/// What a library says, and what caused it.
pub(crate) fn of_library(e: &dyn std::error::Error) -> Message {
    let causes = std::iter::successors(e.source(), |cause| cause.source());
    let causes = causes.map(|cause| plain_reason(&cause.to_string()));
    let all = std::iter::once(e.to_string()).chain(causes);
    Message::from(all.collect::<Vec<_>>().join(": "))
}

/// The system's reason, without its number and without the name of a temporary file.
pub fn system_reason(e: &io::Error) -> Message {
    Message::words(plain_reason(&e.to_string()))
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
