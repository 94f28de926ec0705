//! What was tried on a file.

use std::fmt;

/// What was tried on a file, as [`Error::Io`](super::Error::Io) names it. Programs choose their
/// exit codes by it, and whether something is worth another try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IoAction {
    /// Opening an input and reading it.
    Read,
    /// Reading more of an input that could be opened and read before.
    GoOnReading,
    /// Making a file or a folder that is not there yet.
    Create,
    /// Writing into a file.
    Write,
    /// Replacing a file by a complete new one.
    Save,
}

impl fmt::Display for IoAction {
    /// A verb, for a sentence that names the file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            IoAction::Read => "read",
            IoAction::GoOnReading => "go on reading",
            IoAction::Create => "create",
            IoAction::Write => "write",
            IoAction::Save => "save",
        })
    }
}
