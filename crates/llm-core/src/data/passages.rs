//! Passages that stand alone, such as conversations: a training window holds one and nothing else,
//! and of its targets some count.

use super::Window;
use super::passes::Pass;
use crate::base::{Error, Result, TokenId};
use crate::message;
use crate::model::{Batch, Origin};
use std::sync::{Mutex, PoisonError};

/// Which tokens are a window of their own, and which of them are targets.
pub(super) struct Passages {
    pub windows: Vec<Window>,
    /// Whether each token is a target that counts.
    is_target: Vec<bool>,
    /// The pass that was asked for last.
    pass: Mutex<Option<Pass>>,
}

impl Passages {
    /// # Errors
    /// [`Error::Config`] when a window is not within the tokens, or none of its targets counts.
    pub fn new(windows: Vec<Window>, is_target: Vec<bool>, tokens: usize) -> Result<Passages> {
        let passages = Passages { windows, is_target, pass: Mutex::default() };
        let Passages { windows, is_target, .. } = &passages;
        let counts = |w: &Window| passages.targets_in(*w) > 0;
        let fits = !windows.is_empty() && is_target.len() == tokens && windows.iter().all(counts);
        let reason = message!("each has to lie within the tokens and hold a target that counts");
        Error::unless(fits, "passages", reason).map(|()| passages)
    }

    /// The windows of `batch_size` rows from `origin` on, and how many targets count in their step.
    ///
    /// # Errors
    /// As [`Pass::new`].
    pub fn rows(&self, origin: Origin, batch_size: usize) -> Result<(Vec<Window>, u64)> {
        let Origin { seed, step, first_row, step_rows, .. } = origin;
        let end = first_row.saturating_add(batch_size as u64);
        let rows = usize::try_from(step_rows.max(end)).unwrap_or(usize::MAX);
        let (number, place) = Pass::of(step, self.windows.len(), rows);
        let mut last = self.pass.lock().unwrap_or_else(PoisonError::into_inner);
        let pass = match last.take().filter(|pass| pass.is(seed, number, rows)) {
            Some(pass) => pass,
            None => Pass::new(&self.windows, |w| self.targets_in(w), seed, number, rows)?,
        };
        let pass = last.insert(pass);
        let mine = &pass.step(place)[first_row as usize..][..batch_size];
        Ok((mine.iter().map(|&i| self.windows[i]).collect(), pass.targets[place]))
    }

    /// The length of rows for these passages: that of the longest, at most `seq_len`.
    ///
    /// # Errors
    /// [`Error::Config`] when one is longer than that.
    pub fn row_len(some: &[Window], seq_len: usize) -> Result<usize> {
        let longest = some.iter().map(|w| w.len).max().unwrap_or(0);
        let reason = message!("{} is shorter than a passage of {} tokens", seq_len, longest);
        Error::unless(longest <= seq_len, "seq_len", reason).map(|()| longest)
    }

    /// How many targets of a window count.
    pub fn targets_in(&self, window: Window) -> usize {
        let targets = self.is_target.get(window.start + 1..=window.start + window.len);
        targets.map_or(0, |of| of.iter().filter(|&&counts| counts).count())
    }

    /// Targets that begin at this token, without those that do not count.
    pub fn hide(&self, start: usize, targets: &mut [TokenId]) {
        for (i, target) in targets.iter_mut().enumerate() {
            if !self.is_target.get(start + i).is_some_and(|counts| *counts) {
                *target = Batch::IGNORED;
            }
        }
    }
}
