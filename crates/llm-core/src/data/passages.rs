//! Passages that stand alone, such as conversations: a training window holds one and nothing else,
//! and of its targets some count.

use super::Window;
use crate::base::{Error, Result, TokenId};
use crate::message;
use crate::model::Batch;

/// Which tokens are a window of their own, and which of them are targets.
pub(super) struct Passages {
    pub windows: Vec<Window>,
    /// Of every token.
    is_target: Vec<bool>,
}

/// Lengths of rows are multiples of this, so that recycled storage fits more often.
const STEP: usize = 32;

impl Passages {
    /// # Errors
    /// [`Error::Config`] when a window is not within the tokens, or none of its targets counts.
    pub fn new(windows: Vec<Window>, is_target: Vec<bool>, tokens: usize) -> Result<Passages> {
        let passages = Passages { windows, is_target };
        let Passages { windows, is_target } = &passages;
        let counts = |w: &Window| passages.targets_in(*w) > 0;
        if windows.is_empty() || is_target.len() != tokens || !windows.iter().all(counts) {
            let reason =
                message!("each has to lie within the tokens and hold a target that counts");
            return Err(Error::config("passages", reason));
        }
        Ok(passages)
    }

    /// The length of rows for these passages: that of the longest, rounded up, at most `seq_len`.
    ///
    /// # Errors
    /// [`Error::Config`] when one is longer than that.
    pub fn row_len(some: impl Iterator<Item = Window>, seq_len: usize) -> Result<usize> {
        let longest = some.map(|w| w.len).max().unwrap_or(0);
        if longest > seq_len {
            let reason = message!("{} is shorter than a passage of {} tokens", seq_len, longest);
            return Err(Error::config("seq_len", reason));
        }
        Ok(longest.next_multiple_of(STEP).min(seq_len))
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
