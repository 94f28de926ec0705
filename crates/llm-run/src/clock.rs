//! The time that a command may take.

use std::time::{Duration, Instant};

/// Share of the time limit reserved for the final measurement and save.
const KEPT: f64 = 0.1;

/// When a command began, and how long it may take.
#[derive(Clone, Copy, Debug)]
pub struct TimeBudget {
    /// When it began.
    pub begin: Instant,
    /// How long all of it may take; `None`: as long as it does.
    pub most: Option<Duration>,
}

impl TimeBudget {
    /// How long it takes until its steps end; the rest is for the last measurement.
    pub fn for_steps(&self) -> Option<Duration> {
        self.most.map(|most| most.mul_f64(1.0 - KEPT))
    }

    /// The time that is left; `None`: there is no end.
    pub fn left(&self) -> Option<Duration> {
        self.most.map(|most| most.saturating_sub(self.begin.elapsed()))
    }

    /// Whether no time is left.
    pub fn is_up(&self) -> bool {
        self.left().is_some_and(|left| left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_leave_time_for_the_rest() {
        let begin = Instant::now();
        let endless = TimeBudget { begin, most: None };
        assert_eq!((endless.for_steps(), endless.left(), endless.is_up()), (None, None, false));
        let hour = TimeBudget { begin, most: Some(Duration::from_secs(3600)) };
        assert_eq!(hour.for_steps(), Some(Duration::from_secs(3240)));
        assert!(!hour.is_up() && hour.left() <= hour.most);
        let over = TimeBudget { begin, most: Some(Duration::ZERO) };
        assert!(over.is_up());
    }
}
