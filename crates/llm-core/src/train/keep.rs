//! Which states of a run stay on the disk: the last, the best, and the last few.

use super::Evaluation;
use super::hooks::{Flow, Hooks};
use super::usable::check_usable;
use crate::base::Result;
use crate::checkpoint::{self, Snapshot, TokenizerSpec};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The state with the lowest validation loss so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// Steps done.
    pub step: u64,
    /// In nats per token.
    pub val_loss: f64,
}

/// Saves a run in a folder: `last` whenever a save is due, `best` after a measurement that is
/// better than all before, and `step-NNNNNNNN` for the last few of `last`.
///
/// As [`Hooks`] it does so by itself; or its methods are called one by one.
#[derive(Clone, Debug)]
pub struct Keeper {
    folder: Option<PathBuf>,
    tokenizer: TokenizerSpec,
    with_optimizer: bool,
    best_with_optimizer: bool,
    numbered: usize,
    best: Option<Best>,
    worse: u64,
}

impl Keeper {
    /// Keeps `last` and `best` in `folder`, which must be there.
    pub fn new(folder: &Path, tokenizer: TokenizerSpec) -> Keeper {
        Keeper { folder: Some(folder.into()), ..Keeper::nowhere(tokenizer) }
    }

    /// Saves nothing; only watches which state is the best.
    pub fn nowhere(tokenizer: TokenizerSpec) -> Keeper {
        Keeper {
            folder: None,
            tokenizer,
            with_optimizer: true,
            best_with_optimizer: false,
            numbered: 0,
            best: None,
            worse: 0,
        }
    }

    /// `last` with the optimizer's state (default), or without.
    pub fn with_optimizer(self, with_optimizer: bool) -> Keeper {
        Keeper { with_optimizer, ..self }
    }

    /// `best` with the optimizer's state, or without (default): it is there to be used, and is a
    /// third as large then.
    pub fn best_with_optimizer(self, best_with_optimizer: bool) -> Keeper {
        Keeper { best_with_optimizer, ..self }
    }

    /// Keeps the last `numbered` saves under their numbers too.
    pub fn with_numbered(self, numbered: usize) -> Keeper {
        Keeper { numbered, ..self }
    }

    /// Goes on from the best state of an earlier part of the run.
    pub fn with_best(self, best: Option<Best>) -> Keeper {
        Keeper { best, ..self }
    }

    /// The folder has another name now: what is kept from here on goes there.
    pub fn moved_to(&mut self, folder: &Path) {
        self.folder = Some(folder.into());
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

    /// Takes note of a measurement. A new best state is saved, and the result is true.
    ///
    /// # Errors
    /// As [`check_usable`], and what saving says; the older best state is then still there.
    pub fn measured(&mut self, run: Snapshot<'_>, val_loss: f64) -> Result<bool> {
        if val_loss.is_nan() || self.best.is_some_and(|best| best.val_loss <= val_loss) {
            self.worse += 1;
            return Ok(false);
        }
        if let Some(path) = self.best_path() {
            check_usable(run)?;
            checkpoint::save(&path, run, &self.tokenizer, self.best_with_optimizer)?;
        }
        (self.best, self.worse) = (Some(Best { step: run.step, val_loss }), 0);
        Ok(true)
    }

    /// After this state was saved as `last`: the same under its number, and the oldest numbers go.
    ///
    /// # Errors
    /// What saving says.
    pub fn number(&self, last: &Path, run: Snapshot<'_>) -> Result<()> {
        let Some(folder) = self.folder.as_ref().filter(|_| self.numbered > 0) else {
            return Ok(());
        };
        let path = folder.join(format!("step-{:08}", run.step));
        // The file of `last` is replaced, never changed: a second name for it costs no space.
        let _ = std::fs::remove_file(&path);
        if std::fs::hard_link(last, &path).is_err() {
            checkpoint::save(&path, run, &self.tokenizer, self.with_optimizer)?;
        }
        let mut old = numbered(folder);
        old.sort();
        for path in old.iter().rev().skip(self.numbered) {
            let _ = std::fs::remove_file(path);
        }
        Ok(())
    }

    /// Saves this state as `last`, and under its number if those are kept.
    ///
    /// # Errors
    /// As [`check_usable`], and what saving says; what was there is then still there.
    pub fn save_last(&self, run: Snapshot<'_>) -> Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        check_usable(run)?;
        let last = folder.join("last");
        checkpoint::save(&last, run, &self.tokenizer, self.with_optimizer)?;
        self.number(&last, run)
    }
}

impl Hooks for Keeper {
    fn waits(&mut self) -> bool {
        false
    }

    fn evaluated(&mut self, run: Snapshot<'_>, evaluation: &Evaluation) -> Result<Flow> {
        self.measured(run, evaluation.loss)?;
        Ok(Flow::Continue(()))
    }

    fn save(&mut self, run: Snapshot<'_>) -> Result<()> {
        self.save_last(run)
    }
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
