//! Opening files that come from elsewhere.

use crate::error::{FormatError, Result};
use llm_core::base::open_regular;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// [`open_regular`] with this crate's errors.
pub(crate) fn open(path: &Path) -> Result<(File, u64)> {
    Ok(open_regular(path)?)
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
