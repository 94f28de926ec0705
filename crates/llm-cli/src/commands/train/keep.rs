//! The best measurement of a run, kept in its folder as `ckpt/best.json` beside the state itself.

use llm_core::base::{open_regular, replace_file};
use llm_core::train::Best;
use llm_core::{Error, IoAction, Result};
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::path::Path;

/// More than `best.json` has.
const MOST_BYTES: u64 = 1 << 10;

/// [`Best`], as the file has it.
#[derive(Serialize, Deserialize)]
struct Stored {
    step: u64,
    val_loss: f64,
}

/// The best of a run with `done` steps; one from later belongs to a course that was left.
pub(super) fn read_best(folder: &Path, done: u64) -> Option<Best> {
    if !folder.join("best").is_file() {
        return None;
    }
    let (file, _) = open_regular(&folder.join("best.json")).ok()?;
    let Stored { step, val_loss } = serde_json::from_reader(file.take(MOST_BYTES)).ok()?;
    (step <= done).then_some(Best { step, val_loss })
}

/// Says which measurement the file `best` belongs to.
///
/// # Errors
/// [`Error::Io`] naming the file.
pub(super) fn write_best(folder: &Path, best: Best) -> Result<()> {
    let Best { step, val_loss } = best;
    let text = serde_json::to_string(&Stored { step, val_loss }).unwrap_or_default() + "\n";
    let path = folder.join("best.json");
    let written = replace_file(&path, |out| out.write_all(text.as_bytes()));
    written.map_err(|source| Error::io(IoAction::Save, path, source))
}
