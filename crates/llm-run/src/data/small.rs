//! Inputs that are read whole: prompts, tokenizer files, token numbers.

use crate::error::{Result, RunError};
use llm_core::base::{open_regular, system_reason};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The bytes of a file, up to one more than `most`, so that a longer one can be told.
///
/// # Errors
/// [`RunError::Input`] with the path.
pub fn small_file(path: &Path, most: u64) -> Result<Vec<u8>> {
    let file = File::open(path);
    let file = file.map_err(|e| RunError::Input { path: path.into(), why: system_reason(&e) })?;
    small(path, file, most)
}

/// [`small_file`] of one that can be read again: what is read from a pipe is gone, and a pipe that
/// nobody writes to keeps its reader waiting.
///
/// # Errors
/// As [`small_file`]; also for a pipe or a device.
pub fn small_regular_file(path: &Path, most: u64) -> Result<Vec<u8>> {
    let opened = open_regular(path);
    let (file, _) =
        opened.map_err(|e| RunError::Input { path: path.into(), why: system_reason(&e) })?;
    small(path, file, most)
}

/// [`small_file`] of standard input.
///
/// # Errors
/// As [`small_file`], with the path `-`.
pub fn small_stdin(most: u64) -> Result<Vec<u8>> {
    small(Path::new("-"), std::io::stdin().lock(), most)
}

fn small(path: &Path, input: impl Read, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match input.take(most.saturating_add(1)).read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(e) => Err(RunError::Input { path: path.into(), why: system_reason(&e) }),
    }
}
