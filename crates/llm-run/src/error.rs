//! What ends a run, or what keeps one from beginning.

use llm_core::base::{CrewError, Filling, Message, system_reason, with_causes};
use llm_core::{Error, IoAction, message, says};
use llm_formats::FormatError;
use llm_formats::first_look::Look;
use std::io;
use std::path::{Path, PathBuf};

/// `Result` with [`RunError`].
pub type Result<T, E = RunError> = std::result::Result<T, E>;

/// Why a run stopped, or cannot begin.
#[derive(Debug)]
pub enum RunError {
    /// Options that cannot be, with what to do instead.
    Usage(Message),
    /// Data that cannot be used.
    Data(Message),
    /// An input that is something else than what is read there.
    Foreign {
        /// The file or folder.
        path: PathBuf,
        /// What it is.
        look: Look,
    },
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
    /// Too little memory, with what makes the size.
    Memory(Error, Message),
    /// Fewer threads than were asked for can be had.
    Threads(usize),
    /// The output of a front end failed (other than by being closed).
    Output(io::Error),
    /// From a library.
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
    /// The model's first choice is right less often than was asked for.
    Accuracy {
        /// First choices that came.
        right: usize,
        /// Places searched.
        count: usize,
        /// The share that was asked for.
        wanted: f64,
    },
    /// Several processes that cannot speak with each other, or a device that is not there.
    Unavailable(Message),
    /// Another process of the same run says why it ends, and with which code.
    Elsewhere(u8),
    /// A signal stopped the run; it was handled and reported.
    Signal(u8),
    /// A fault of this program.
    Internal(Message),
}

/// The kind of a [`RunError`], for exit codes, exceptions and the like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Options that cannot be.
    Usage,
    /// The numbers ran away, or are worse than was asked for.
    Diverged,
    /// Data or a checkpoint that cannot be used.
    BadData,
    /// An input that is missing or unreadable.
    NoInput,
    /// Several processes that cannot speak with each other, or a device that is not there.
    Unavailable,
    /// A fault of the program.
    Internal,
    /// Not enough memory.
    NoMemory,
    /// Output that cannot be created.
    CannotCreate,
    /// Reading or writing failed on the way.
    Io,
    /// Another run writes the same output.
    Busy,
    /// Another process has said why, with this code.
    Elsewhere(u8),
    /// A signal came.
    Signal(u8),
}

impl Kind {
    /// The exit code of a program that ends with this error: those of `sysexits.h` from 64 to 78, 2 for
    /// usage, 3 for training that diverged, 128 + n for signal n.
    pub fn code(self) -> u8 {
        match self {
            Kind::Usage => 2,
            Kind::Diverged => 3,
            Kind::BadData => 65,
            Kind::NoInput => 66,
            Kind::Unavailable => 69,
            Kind::Internal => 70,
            Kind::NoMemory => 71,
            Kind::CannotCreate => 73,
            Kind::Io => 74,
            Kind::Busy => 75,
            Kind::Elsewhere(code) => code,
            Kind::Signal(n) => 128 + n,
        }
    }
}

impl From<Error> for RunError {
    fn from(source: Error) -> RunError {
        RunError::Core { source, hint: None }
    }
}

impl From<FormatError> for RunError {
    fn from(e: FormatError) -> RunError {
        match e {
            FormatError::LongRun(e) => {
                RunError::Memory(e, message!("the length of what has no white space in {data}"))
            }
            FormatError::Core(e @ Error::Memory { .. }) => {
                RunError::Memory(e, message!("the size of {data}"))
            }
            FormatError::Core(e) => e.into(),
            other => RunError::Data(other.message()),
        }
    }
}

says! { RunError {
    Usage(why) => why.clone(),
    Data(why) => why.clone(),
    Unavailable(why) => why.clone(),
    Foreign { path, look } => message!("'{}': it is {}", path.display(), look.message()),
    Input { path, why } => message!("cannot read '{}': {}", path.display(), why),
    Create { path, why } => message!(
        "cannot write '{}': {}; nothing was trained, choose another {save} or {out}",
        path.display(),
        why
    ),
    Busy { path } => message!(
        "'{}' is in use by another run; wait for it, or choose another {save} or {out}",
        path.display()
    ),
    Memory(e, options) => message!("{}; lower {}", with_causes(e), options),
    Threads(n) = "{threads} {}: the system does not give that many; try fewer",
    Output(e) => message!("cannot write to standard output: {}", system_reason(e)),
    Core { source, hint } => match hint {
        None => with_causes(source),
        Some(hint) => message!("{}; {}", with_causes(source), hint),
    },
    Spikes { skipped, step, kept } =
        "{} steps in a row were skipped as spikes, the last at step {}; {}",
    Accuracy { wanted, right, count } =
        "{min_acc} {}: {} of {} first choices are right; train longer, or ask for less",
    Elsewhere = "another process ended the run",
    Signal(n) = "stopped by signal {}",
    Internal(why) = "internal: {}; this is a fault of the program, please report it",
} }

impl RunError {
    /// Through the library's loop, and back by [`RunError::of_hook`].
    pub fn in_hook(self) -> Error {
        Error::Hook(Box::new(self))
    }

    /// The error of a run: a hook's own as it was, anything else from the library.
    pub fn of_hook(error: Error) -> RunError {
        match error {
            Error::Hook(own) => match own.downcast::<RunError>() {
                Ok(own) => *own,
                Err(foreign) => RunError::from(Error::Hook(foreign)),
            },
            other => RunError::from(other),
        }
    }

    /// A library's error, with what is kept or what to do.
    pub fn hint(source: Error, hint: impl Into<Message>) -> RunError {
        RunError::Core { source, hint: Some(hint.into()) }
    }

    /// A file or a folder that cannot be made, with what to do.
    pub fn not_created(path: &Path, source: io::Error, hint: impl Into<Message>) -> RunError {
        RunError::hint(Error::io(IoAction::Create, path, source), hint)
    }

    /// Whether the numbers of training itself ended it.
    pub fn is_divergence(&self) -> bool {
        matches!(
            self,
            RunError::Core { source: Error::Diverged { .. } | Error::Unusable { .. }, .. }
                | RunError::Spikes { .. }
        )
    }

    /// The kind of the error.
    pub fn kind(&self) -> Kind {
        match self {
            RunError::Usage(_) => Kind::Usage,
            RunError::Data(_) | RunError::Foreign { .. } => Kind::BadData,
            RunError::Input { .. } => Kind::NoInput,
            RunError::Create { .. } => Kind::CannotCreate,
            RunError::Busy { .. } => Kind::Busy,
            RunError::Memory(..) | RunError::Threads(_) => Kind::NoMemory,
            RunError::Output(_) => Kind::Io,
            RunError::Spikes { .. } | RunError::Accuracy { .. } => Kind::Diverged,
            RunError::Unavailable(_) => Kind::Unavailable,
            RunError::Elsewhere(code) => Kind::Elsewhere(*code),
            RunError::Signal(n) => Kind::Signal(*n),
            RunError::Internal(_) => Kind::Internal,
            RunError::Core { source, .. } => match source {
                Error::Config { .. } | Error::Crew(CrewError::Size { .. }) => Kind::Usage,
                Error::Diverged { .. } | Error::Unusable { .. } => Kind::Diverged,
                Error::Checkpoint { .. }
                | Error::DataTooSmall { .. }
                | Error::TokenOutOfRange { .. }
                | Error::UnknownUnit { .. }
                | Error::NumbersOnly
                | Error::Tokenizer { .. }
                | Error::Logits { .. } => Kind::BadData,
                Error::Memory { .. } => Kind::NoMemory,
                Error::Io { action: IoAction::Read, source, .. } => match source.kind() {
                    io::ErrorKind::InvalidData => Kind::BadData,
                    _ => Kind::NoInput,
                },
                Error::Io { action: IoAction::Create, .. } => Kind::CannotCreate,
                Error::Io { .. }
                | Error::Device(_)
                | Error::Crew(CrewError::Silent { .. } | CrewError::Gone { .. }) => Kind::Io,
                _ => Kind::Internal,
            },
        }
    }
}

impl std::error::Error for RunError {}

/// Refuses what was asked for.
pub(crate) fn usage<T>(why: Message) -> Result<T> {
    Err(RunError::Usage(why))
}

/// The error of an input that is something else than what is read there, by its first look.
pub fn foreign(path: &Path, read: &[Look]) -> Option<RunError> {
    let look = Look::of(path).filter(|look| !read.contains(look))?;
    Some(RunError::Foreign { path: path.into(), look })
}

/// An option of a run, by the name of its field.
pub fn option(name: &'static str) -> Filling {
    Filling::Option(name)
}
