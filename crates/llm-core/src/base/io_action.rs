//! What was tried on a file.

use super::Message;
use crate::message;
use std::path::Path;

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

impl IoAction {
    /// That it did not work on this file.
    pub(super) fn failed(self, path: &Path) -> Message {
        let path = path.display();
        match self {
            IoAction::Read => message!("cannot read '{}'", path),
            IoAction::GoOnReading => message!("cannot go on reading '{}'", path),
            IoAction::Create => message!("cannot create '{}'", path),
            IoAction::Write => message!("cannot write '{}'", path),
            IoAction::Save => message!("cannot save '{}'", path),
        }
    }
}
