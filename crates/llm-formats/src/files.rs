//! Opening files that come from elsewhere.

use crate::error::{FormatError, Result};
use llm_core::base::open_regular;
use llm_core::message;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// [`open_regular`] with this crate's errors.
pub(crate) fn open(path: &Path) -> Result<(File, u64)> {
    Ok(open_regular(path)?)
}

/// A whole file of text, at most `limit` bytes, without the mark that Windows' editors put before it.
pub(crate) fn read_small(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let (file, length) = open(path)?;
    if length > limit {
        let why = message!("the file is {} bytes, the limit is {}", length, limit);
        return Err(FormatError::content(why));
    }
    let mut bytes = Vec::with_capacity(length as usize);
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(unmarked(bytes))
}

/// The three bytes that some programs write before UTF-8.
pub const UTF8_MARK: [u8; 3] = *b"\xEF\xBB\xBF";

/// UTF-8 without [`UTF8_MARK`].
pub fn unmarked(mut text: Vec<u8>) -> Vec<u8> {
    if text.starts_with(&UTF8_MARK) {
        text.drain(..UTF8_MARK.len());
    }
    text
}
