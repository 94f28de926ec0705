//! The error of everything that writes here.

use llm_core::{Error, IoAction};
use std::io;
use std::path::Path;

pub(crate) fn write_error(path: &Path, source: io::Error) -> Error {
    Error::Io { action: IoAction::Write, path: path.to_path_buf(), source }
}
