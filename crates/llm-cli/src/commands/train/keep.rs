//! What stays in a run's folder beside `ckpt/last`: the best state so far, and the last few.

use llm_core::checkpoint::{self, TokenizerSpec};
use llm_core::train::Trainer;
use llm_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The state with the lowest validation loss of the periodic measurements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// Steps done.
    pub step: u64,
    /// In nats per token.
    pub val_loss: f64,
}

/// Watches the folder `ckpt` of a run.
pub struct Keeper {
    folder: Option<PathBuf>,
    /// Numbered checkpoints to keep.
    numbered: usize,
    best: Option<Best>,
    /// Measurements since the best one.
    worse: u64,
}

impl Keeper {
    /// For a run with `done` steps; without a folder only the best number is watched.
    pub fn new(folder: Option<&Path>, numbered: usize, done: u64) -> Keeper {
        let folder = folder.map(|run| run.join("ckpt"));
        // A best state from after `done` belongs to a course that was left.
        let best = folder.as_deref().and_then(read_best).filter(|best| best.step <= done);
        Keeper { folder, numbered, best, worse: 0 }
    }

    /// The best so far.
    pub fn best(&self) -> Option<Best> {
        self.best
    }

    /// Where the best state is, when it is kept.
    pub fn best_path(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join("best"))
    }

    /// Measurements since the best one.
    pub fn worse(&self) -> u64 {
        self.worse
    }

    /// Takes note of a measurement; the best state so far is saved.
    ///
    /// # Errors
    /// What saving says; the older best state is then still there.
    pub fn measured(
        &mut self,
        val_loss: f64,
        trainer: &Trainer,
        tokenizer: &TokenizerSpec,
        moments: bool,
    ) -> Result<()> {
        if self.best.is_some_and(|best| best.val_loss <= val_loss) {
            self.worse += 1;
            return Ok(());
        }
        let best = Best { step: trainer.step, val_loss };
        if let Some(folder) = &self.folder {
            checkpoint::save(&folder.join("best"), trainer, tokenizer, moments)?;
            let text = serde_json::to_string(&best).unwrap_or_default() + "\n";
            let path = folder.join("best.json");
            let written = checkpoint::replace_file(&path, |out| out.write_all(text.as_bytes()));
            written.map_err(|source| Error::Io { action: "save", path, source })?;
        }
        (self.best, self.worse) = (Some(best), 0);
        Ok(())
    }

    /// After `last` was saved: the same state under its number, and the oldest numbers go.
    ///
    /// # Errors
    /// What saving says.
    pub fn saved(
        &self,
        last: &Path,
        trainer: &Trainer,
        tokenizer: &TokenizerSpec,
        moments: bool,
    ) -> Result<()> {
        let Some(folder) = self.folder.as_ref().filter(|_| self.numbered > 0) else {
            return Ok(());
        };
        let path = folder.join(format!("step-{:08}", trainer.step));
        // The file of `last` is replaced, never changed: a second name for it costs no space.
        let _ = std::fs::remove_file(&path);
        if std::fs::hard_link(last, &path).is_err() {
            checkpoint::save(&path, trainer, tokenizer, moments)?;
        }
        let mut old = numbered(folder);
        old.sort();
        for path in old.iter().rev().skip(self.numbered) {
            let _ = std::fs::remove_file(path);
        }
        Ok(())
    }
}

fn read_best(folder: &Path) -> Option<Best> {
    if !folder.join("best").is_file() {
        return None;
    }
    serde_json::from_str(&std::fs::read_to_string(folder.join("best.json")).ok()?).ok()
}

/// `step-NNNNNNNN` files.
fn numbered(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let is_one = |name: &str| {
        name.strip_prefix("step-")
            .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    let paths = entries.filter_map(|e| Some(e.ok()?.path()));
    paths.filter(|p| p.file_name().and_then(|n| n.to_str()).is_some_and(is_one)).collect()
}
