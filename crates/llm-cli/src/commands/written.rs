//! Files that a verb writes besides standard output.

use crate::console::note;
use crate::error::{Result, RunError};
use crate::program::Program;
use llm_core::base::{escape::one_line, replace_file};
use llm_core::{Error, IoAction, message};
use llm_report::{Fact, Page};
use llm_run::folder::{PAGE, REPORT, may_replace};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// Bytes that tell what a file is.
const START: u64 = 64;

/// Refuses a place where nothing can be written, or where there is a file that does not begin as
/// those that are written there.
///
/// # Errors
/// [`RunError::Core`] with exit code 73.
pub(super) fn check_place(path: &Path, is_ours: impl Fn(&[u8]) -> bool) -> Result<()> {
    let is_ours = |path: &Path| start_of(path).is_ok_and(|start| is_ours(&start));
    let why = "it exists and was not written by this program";
    may_replace(path, is_ours, why).map_err(|source| refused(path, source))
}

/// [`check_place`] of a page, if one is asked for; the page of a run is left alone.
pub(super) fn check_page(path: Option<&Path>) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    check_place(path, |start| begins_with(start, PAGE))?;
    let of_run = path.with_file_name("metrics.jsonl").exists();
    if of_run && path.file_name().is_some_and(|name| name == REPORT) {
        return Err(refused(path, io::Error::other("it is the page of a run")));
    }
    Ok(())
}

/// The page of `inspect` about a checkpoint, with what is known of it alone.
pub(super) fn page_of(path: &Path, program: &Program, verb: &str, facts: Vec<Fact>) -> Page {
    let (name, version) = (program.models.name, env!("CARGO_PKG_VERSION"));
    Page {
        title: one_line(&path.display().to_string()),
        made_by: format!("{name} {version} inspect {verb}"),
        facts,
        ..Page::default()
    }
}

/// Writes a page, if one is asked for, and says where it is.
pub(super) fn write_page(path: Option<&Path>, quiet: bool, page: impl Fn() -> Page) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    llm_report::write(path, &page())?;
    say_written(path, quiet);
    Ok(())
}

fn refused(path: &Path, source: io::Error) -> RunError {
    RunError::not_created(path, source, "nothing was written, choose another file")
}

/// Whether the file is a page of these programs.
pub(super) fn is_page(path: &Path) -> bool {
    start_of(path).is_ok_and(|start| begins_with(&start, PAGE))
}

/// Whether it begins so, ignoring case.
pub(super) fn begins_with(start: &[u8], begins: &str) -> bool {
    let start = start.get(..begins.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(begins.as_bytes()))
}

fn start_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(path)?.take(START).read_to_end(&mut start)?;
    Ok(start)
}

/// Writes the whole file, or leaves the old one.
///
/// # Errors
/// [`RunError::Core`] with exit code 74.
pub fn save(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let failed = |source| Error::io(IoAction::Save, path, source).into();
    replace_file(path, write).map_err(failed)
}

/// Says where something was written.
pub(super) fn say_written(path: &Path, quiet: bool) {
    if !quiet {
        note(message!("wrote   {}", one_line(&path.display().to_string())));
    }
}
