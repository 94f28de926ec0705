//! What is wrong with a file from elsewhere, before its path is added.

use crate::console::one_line;
use crate::data::system_reason;
use crate::error::CliError;
use llm_core::Error;
use std::fs::File;
use std::io;
use std::path::Path;

/// Why a file cannot be imported.
#[derive(Debug)]
pub enum Problem {
    /// It cannot be read.
    Io(io::Error),
    /// What it holds cannot be used.
    Content(String),
    /// The library refuses, for want of memory for example.
    Core(Error),
}

impl Problem {
    /// The problem with the content, in one call.
    pub fn content(why: impl Into<String>) -> Problem {
        Problem::Content(why.into())
    }

    /// The error about the file at `path`.
    pub fn at(self, path: &Path) -> CliError {
        match self {
            Problem::Io(e) => {
                let why = format!("{}; nothing was imported", system_reason(&e));
                CliError::Input { path: path.into(), why }
            }
            Problem::Content(why) => {
                CliError::Data(format!("'{}': {why}; nothing was imported", path.display()))
            }
            Problem::Core(source) => {
                CliError::hint(source, format!("nothing was imported from '{}'", path.display()))
            }
        }
    }
}

impl From<io::Error> for Problem {
    fn from(e: io::Error) -> Problem {
        match e.kind() {
            // The length was asked for before: somebody cut the file meanwhile.
            io::ErrorKind::UnexpectedEof => Problem::content("the file ends too early"),
            _ => Problem::Io(e),
        }
    }
}

impl From<Error> for Problem {
    fn from(e: Error) -> Problem {
        Problem::Core(e)
    }
}

/// Opens a regular file and asks for its length. Asked before opening too: opening a pipe waits
/// for a writer.
pub(super) fn open(path: &Path) -> Result<(File, u64), Problem> {
    let regular = |metadata: std::fs::Metadata| match metadata {
        m if m.is_file() => Ok(m.len()),
        m if m.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
    };
    regular(std::fs::metadata(path)?)?;
    let file = File::open(path)?;
    let length = regular(file.metadata()?)?;
    Ok((file, length))
}

/// A whole file of at most `limit` bytes.
pub(super) fn read_small(path: &Path, limit: u64) -> Result<Vec<u8>, Problem> {
    use io::Read;
    let (file, length) = open(path)?;
    if length > limit {
        return Err(Problem::content(format!("the file is {length} bytes, the limit is {limit}")));
    }
    let mut bytes = Vec::with_capacity(length as usize);
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A name or message from a file, short and without control characters.
pub(super) fn shown(text: &str) -> String {
    const MOST: usize = 120;
    let mut shown = one_line(&text.chars().take(MOST).collect::<String>());
    if text.chars().nth(MOST).is_some() {
        shown.push_str("..");
    }
    shown
}
