//! Files that `inspect` writes besides standard output.

use crate::console::note;
use crate::error::{CliError, Result};
use crate::escape::one_line;
use crate::output::may_replace;
use crate::program::Program;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// What a page begins with.
pub(super) const PAGE: &str = "<!DOCTYPE html>\n<!-- A page of train-gpt. -->";
/// What a picture begins with.
pub(super) const PICTURE: &str = "<svg";

/// Refuses a place where nothing can be written, or where there is a file that does not begin as
/// those that are written there.
///
/// # Errors
/// [`CliError::Core`] with exit code 73.
pub(super) fn check_place(path: &Path, begins: &str) -> Result<()> {
    let hint = "nothing was written, choose another file";
    let refused = |source| Err(CliError::not_created(path, source, hint));
    let is_ours = |path: &Path| begins_with(path, begins).unwrap_or(false);
    may_replace(path, is_ours, "it exists and was not written by this program").or_else(refused)?;
    let of_run = begins == PAGE && path.with_file_name("metrics.jsonl").exists();
    if of_run && path.file_name().is_some_and(|name| name == "report.html") {
        return refused(io::Error::other("it is the page of a run"));
    }
    Ok(())
}

fn begins_with(path: &Path, begins: &str) -> io::Result<bool> {
    let mut start = vec![0; begins.len()];
    File::open(path)?.read_exact(&mut start)?;
    Ok(start.eq_ignore_ascii_case(begins.as_bytes()))
}

/// Says where something was written.
pub(super) fn say_written(path: &Path, quiet: bool) {
    if !quiet {
        note(&format!("wrote   {}", one_line(&path.display().to_string())));
    }
}

/// What a page says about its making.
pub(super) fn made_by(program: &Program, verb: &str) -> String {
    format!("{} {} inspect {verb}", program.name, env!("CARGO_PKG_VERSION"))
}
