//! The best measurement of a run, kept in its folder as `ckpt/best.json` next to the state itself.

use llm_core::base::{open_regular, replace_file};
use llm_core::train::Best;
use llm_core::{Error, IoAction, Result};
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::path::Path;

/// More than `best.json` has.
const MOST_BYTES: u64 = 1 << 10;

/// As stored in the file.
#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(flatten)]
    best: Best,
    /// What it was measured on, see [`judged_on`](super::journal::judged_on); older files do not say.
    #[serde(default)]
    judged_on: String,
}

/// The best of a run with `done` steps, measured on the same as now. One from later belongs to a course
/// that was left, and one measured on other text says nothing about this.
pub(super) fn read_best(folder: &Path, done: u64, now: &str) -> Option<Best> {
    if !folder.join("best").is_file() {
        return None;
    }
    let (file, _) = open_regular(&folder.join("best.json")).ok()?;
    let Stored { best, judged_on } = serde_json::from_reader(file.take(MOST_BYTES)).ok()?;
    let same = judged_on.is_empty() || judged_on == now;
    (same && best.step <= done).then_some(best)
}

/// Says which measurement the file `best` belongs to.
///
/// # Errors
/// [`Error::Io`] naming the file.
pub(super) fn write_best(folder: &Path, best: Best, now: &str) -> Result<()> {
    let stored = Stored { best, judged_on: now.into() };
    let text = serde_json::to_string(&stored).unwrap_or_default() + "\n";
    let path = folder.join("best.json");
    let written = replace_file(&path, |out| out.write_all(text.as_bytes()));
    written.map_err(|source| Error::io(IoAction::Save, path, source))
}
