//! Opening files that come from elsewhere.

use crate::error::{FormatError, Result, refuse, said};
use llm_core::base::{memory, open_regular};
use llm_core::{Error, IoAction, message};
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

/// [`open_regular`] with this crate's errors.
pub(crate) fn open(path: &Path) -> Result<(File, u64)> {
    Ok(open_regular(path)?)
}

/// What `read` makes of the file at `path`, given a reader and its length.
pub(crate) fn read_file<T>(
    path: &Path,
    read: impl FnOnce(BufReader<File>, u64) -> Result<T>,
) -> Result<T> {
    let made = open(path).and_then(|(file, n)| read(BufReader::with_capacity(CHUNK, file), n));
    made.map_err(|e| e.at(path))
}

/// Numbers pass through a buffer of this many bytes, a multiple of eight.
const CHUNK: usize = 1 << 16;

/// The next `count` numbers, each made of N bytes.
pub(crate) fn numbers<T, const N: usize>(
    input: &mut impl Read,
    count: usize,
    number: impl Fn([u8; N]) -> T,
) -> Result<Vec<T>> {
    let mut out = Vec::new();
    out.try_reserve_exact(count).map_err(|_| {
        let needed = (count as u64).saturating_mul(size_of::<T>() as u64);
        FormatError::Core(Error::Memory { needed, available: memory::available() })
    })?;
    let mut chunk = vec![0; CHUNK.min(N.saturating_mul(count))];
    while out.len() < count {
        let left = N.saturating_mul(count - out.len());
        let bytes = &mut chunk[..left.min(CHUNK)];
        input.read_exact(bytes)?;
        out.extend(bytes.as_chunks().0.iter().map(|&b| number(b)));
    }
    Ok(out)
}

/// A whole file of text, at most `limit` bytes, without the mark that Windows' editors put before it.
pub(crate) fn read_small(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let (file, length) = open(path)?;
    if length > limit {
        return refuse(message!("the file is {} bytes, the limit is {}", length, limit));
    }
    let mut bytes = Vec::with_capacity(length as usize);
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(unmarked(bytes))
}

/// A text as an object of JSON.
pub(crate) fn json_object(text: &[u8]) -> Result<Map<String, Value>> {
    serde_json::from_slice(text)
        .map_err(|e| FormatError::content(message!("no JSON object: {}", said(&e))))
}

/// The bytes of a file, up to one more than `most`, so that a longer one is detected.
///
/// # Errors
/// [`Error::Io`] with the path.
pub fn small_file(path: &Path, most: u64) -> llm_core::Result<Vec<u8>> {
    small(path, File::open(path), most)
}

/// [`small_file`] of one that can be read again: what is read from a pipe is gone, and a pipe that
/// without a writer keeps its reader waiting.
///
/// # Errors
/// As [`small_file`]; also for a pipe or a device.
pub fn small_regular_file(path: &Path, most: u64) -> llm_core::Result<Vec<u8>> {
    small(path, open_regular(path).map(|(file, _)| file), most)
}

/// [`small_file`] of standard input.
///
/// # Errors
/// As [`small_file`], with the path `-`.
pub fn small_stdin(most: u64) -> llm_core::Result<Vec<u8>> {
    small(Path::new("-"), Ok(io::stdin().lock()), most)
}

fn small(path: &Path, input: io::Result<impl Read>, most: u64) -> llm_core::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = input.and_then(|input| input.take(most.saturating_add(1)).read_to_end(&mut bytes));
    read.map(|_| bytes).map_err(|e| Error::io(IoAction::Read, path, e))
}

/// Bytes from the beginning of a file that say what it is.
pub const SAMPLE: usize = 64 << 10;

/// The three bytes that some programs write before UTF-8.
pub const UTF8_MARK: [u8; 3] = *b"\xEF\xBB\xBF";

/// UTF-8 without [`UTF8_MARK`].
pub fn unmarked(mut text: Vec<u8>) -> Vec<u8> {
    if text.starts_with(&UTF8_MARK) {
        text.drain(..UTF8_MARK.len());
    }
    text
}

/// Whether the extension of a path is one of these, in capitals or not.
pub(crate) fn is_named(path: &Path, extensions: &[&str]) -> bool {
    let own = path.extension();
    own.is_some_and(|own| extensions.iter().any(|extension| own.eq_ignore_ascii_case(extension)))
}
