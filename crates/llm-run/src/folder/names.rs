//! A run's folder: which files are a run's, and what a killed one left of them.

use crate::error::{Result, RunError};
use crate::log::RunInfo;
use llm_core::base::system_reason;
use llm_core::{base, message};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The page about a run, in its folder.
pub const REPORT: &str = "report.html";

/// How pages of this program begin.
pub const PAGE: &str = "<!DOCTYPE html>\n<!-- A page of train-gpt. -->";

/// What is in a run's folder besides the files of its log, and how it begins.
pub const BEGINNINGS: [(&str, &str); 2] = [(REPORT, PAGE), ("ckpt/best.json", "{\"step\":")];

/// The weights that a run began with, among its checkpoints, where it compares with them.
pub const START: &str = "start";

/// Where a run's folder was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// Where it was.
    There,
    /// Under another name.
    Renamed,
    /// Nowhere; a new one is made.
    Remade,
}

pub(super) fn in_run(dir: &Path) -> PathBuf {
    dir.join("ckpt").join("last")
}

/// Makes the folder and those above it. Their names are on the disk before anything is saved in
/// them: a checkpoint that is safe in a folder that is not would be lost with it.
pub fn make_folder(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).map_err(|e| cannot_create(dir, &e))?;
    if cfg!(unix) {
        for above in dir.ancestors().skip(1).take(3) {
            let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
            // Some file systems cannot; then there is nothing to be done.
            let _ = File::open(above).and_then(|folder| folder.sync_all());
        }
    }
    Ok(())
}

/// A file or folder of a run that cannot be made.
pub fn cannot_create(path: &Path, e: &io::Error) -> RunError {
    RunError::Create { path: path.to_path_buf(), why: system_reason(e) }
}

/// The names of what a run writes, but for numbered checkpoints.
fn names() -> impl Iterator<Item = &'static str> {
    crate::log::FILES.into_iter().chain([
        REPORT,
        "ckpt/last",
        "ckpt/best",
        "ckpt/best.json",
        "ckpt/start",
    ])
}

/// The file of this name in a run's folder, as the system writes paths.
fn inside(dir: &Path, name: &str) -> PathBuf {
    name.split('/').fold(dir.to_path_buf(), |path, part| path.join(part))
}

/// The numbered checkpoints whose names stand in the folder between these two texts.
fn numbered(dir: &Path, before: &str, after: &str) -> Vec<String> {
    let entries = std::fs::read_dir(dir.join("ckpt")).into_iter().flatten().flatten();
    let name = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let name = name.strip_prefix(before)?;
        let name = if after.is_empty() { name } else { name.split_once(after)?.0 };
        let number = name.strip_prefix("step-")?;
        let is_one = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        is_one.then(|| format!("ckpt/{name}"))
    };
    entries.filter_map(name).collect()
}

/// The first file in the folder that a new run would replace. An empty file does not count, and
/// what is no file is never replaced.
pub(super) fn occupied(dir: &Path) -> Option<PathBuf> {
    let names = names().map(String::from).chain(numbered(dir, "", ""));
    let is_taken = |path: &PathBuf| path.metadata().is_ok_and(|m| m.is_file() && m.len() > 0);
    names.map(|name| inside(dir, &name)).find(is_taken)
}

/// Whether a run began here that came to an end before it did a step, on a full disk for example. What
/// it left is the same command's again.
pub(super) fn is_begun_only(dir: &Path) -> bool {
    let left = ["config.toml", "metrics.csv", "metrics.jsonl", "run.json", "ckpt/start"];
    let all = names().map(String::from).chain(numbered(dir, "", ""));
    let mut others = all.filter(|name| !left.contains(&name.as_str()));
    others.all(|name| dir.join(name).symlink_metadata().is_err())
        && RunInfo::read(dir).is_some_and(|info| !info.program.is_empty() && info.step == 0)
        && crate::log::rows(dir).is_ok_and(|mut rows| rows.next().is_none())
}

/// Refuses a link where a run writes: what goes through it leaves the folder, and a folder may have
/// come from elsewhere.
///
/// # Errors
/// [`RunError::Create`] naming the first one.
pub(super) fn refuse_links(dir: &Path) -> Result<()> {
    let names = ["ckpt", "ckpt/last.lock"].into_iter().chain(names()).map(String::from);
    names.chain(numbered(dir, "", "")).try_for_each(|name| refuse_link(&inside(dir, &name)))
}

/// Refuses a link at one name that the program makes up.
///
/// # Errors
/// [`RunError::Create`].
pub fn refuse_link(path: &Path) -> Result<()> {
    if !path.is_symlink() {
        return Ok(());
    }
    let why = message!(
        "it is a link, and a run writes into its own folder only; put the file itself there, \
               or remove it"
    );
    Err(RunError::Create { path: path.to_path_buf(), why })
}

/// Removes what killed saves left of anything that a run writes. For who owns the folder.
pub(super) fn sweep(dir: &Path) {
    for name in names().map(String::from).chain(numbered(dir, ".", ".tmp-")) {
        base::sweep_stale(&dir.join(name));
    }
}
