//! Reasons to end a run before its last step.

use super::Evaluation;
use super::hooks::{Ending, Flow, Hooks};
use crate::base::Result;
use crate::checkpoint::Snapshot;
use std::time::{Duration, Instant};

/// Ends a run between two steps when this much time has passed since it was made, or since another
/// moment.
#[derive(Clone, Copy, Debug)]
pub struct TimeLimit {
    begin: Instant,
    most: Duration,
}

impl TimeLimit {
    /// The clock starts here.
    pub fn new(most: Duration) -> TimeLimit {
        TimeLimit::since(Instant::now(), most)
    }

    /// The clock started at `begin`.
    pub fn since(begin: Instant, most: Duration) -> TimeLimit {
        TimeLimit { begin, most }
    }
}

impl Hooks for TimeLimit {
    fn waits(&mut self) -> bool {
        false
    }

    fn before_next(&mut self, _: Snapshot<'_>, left: u64) -> Result<Flow> {
        let up = self.begin.elapsed() >= self.most;
        Ok(if up { Flow::Break(Ending::TimeIsUp { left }) } else { Flow::Continue(()) })
    }
}

/// Early stopping: ends a run when n measurements in a row brought no better loss.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    most: u64,
    best: f64,
    worse: u64,
}

impl Patience {
    /// Gives up after `most` measurements without a new best.
    pub fn new(most: u64) -> Patience {
        Patience { most, best: f64::INFINITY, worse: 0 }
    }

    /// Measurements since the best one.
    pub fn worse(&self) -> u64 {
        self.worse
    }
}

impl Hooks for Patience {
    fn waits(&mut self) -> bool {
        false
    }

    fn evaluated(&mut self, _: Snapshot<'_>, evaluation: &Evaluation) -> Result<Flow> {
        // What is not a number is no progress either.
        if evaluation.loss < self.best {
            (self.best, self.worse) = (evaluation.loss, 0);
        } else {
            self.worse += 1;
        }
        let enough = self.worse >= self.most;
        Ok(if enough { Flow::Break(Ending::NoProgress) } else { Flow::Continue(()) })
    }
}
