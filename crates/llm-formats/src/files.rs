//! Opening files that come from elsewhere.

use crate::error::{FormatError, Result};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Opens a regular file and asks for its length. Asked before opening too: opening a pipe waits
/// for a writer.
pub(crate) fn open(path: &Path) -> Result<(File, u64)> {
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
pub(crate) fn read_small(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let (file, length) = open(path)?;
    if length > limit {
        let why = format!("the file is {length} bytes, the limit is {limit}");
        return Err(FormatError::content(why));
    }
    let mut bytes = Vec::with_capacity(length as usize);
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}
