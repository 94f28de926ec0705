//! Files that `inspect` writes besides standard output.

use crate::commands::written;
pub(super) use crate::commands::written::say_written;
use crate::error::Result;
use crate::program::Program;
use llm_core::base::escape::one_line;
use llm_report::{Fact, Page};
pub(super) use llm_run::folder::PAGE;
use std::io;
use std::path::Path;

/// What a picture begins with.
pub(super) const PICTURE: &str = "<svg";

/// Refuses a place where nothing can be written, or where there is a file that does not begin as
/// those that are written there.
///
/// # Errors
/// [`RunError::Core`] with exit code 73.
pub(super) fn check_place(path: &Path, begins: &str) -> Result<()> {
    written::check_place(path, |start| written::begins_with(start, begins))?;
    let of_run = begins == PAGE && path.with_file_name("metrics.jsonl").exists();
    if of_run && path.file_name().is_some_and(|name| name == "report.html") {
        return Err(written::refused(path, io::Error::other("it is the page of a run")));
    }
    Ok(())
}

/// The page about a checkpoint, with what is known of it alone.
pub(super) fn page_of(path: &Path, program: &Program, verb: &str, facts: Vec<Fact>) -> Page {
    let (name, version) = (program.models.name, env!("CARGO_PKG_VERSION"));
    Page {
        title: one_line(&path.display().to_string()),
        made_by: format!("{name} {version} inspect {verb}"),
        facts,
        ..Page::default()
    }
}
