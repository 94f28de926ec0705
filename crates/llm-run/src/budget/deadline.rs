//! The steps of a run of a given time, planned again when it is known what a step takes.

use super::choose::{FEWEST_STEPS, TextLength, Trial};

/// Share of the time that is planned when steps have been timed. The clock keeps a tenth for the last
/// measurement, see [`TimeBudget`](crate::clock::TimeBudget): steps that were planned end before it begins.
const PLANNED: f64 = 0.92;
/// Share of the time below which it is said what was not used.
const WELL_USED: f64 = 0.85;
/// Share of the time after which a run is stopped, whatever it has done.
const MOST: f64 = 1.02;
/// Steps that are timed, at least: the first does not count.
const FEWEST_TIMED: u64 = 2;

/// What was left of the time that a run was to take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unused {
    /// Seconds that the run took.
    pub used: f64,
    /// Seconds that it was to take.
    pub of: f64,
    /// Steps that there would have been time for; `None`: the text is good for no more.
    pub steps: Option<u64>,
}

/// The time that a run is to take, counted from the beginning of its command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deadline {
    /// The time in seconds.
    pub seconds: f64,
    /// Steps done when those that are left are planned again: so far the rate has not begun to fall.
    pub settled_after: u64,
    text: TextLength,
    trial: Trial,
}

impl Deadline {
    pub(super) fn new(seconds: f64, warmup: u64, text: TextLength, trial: Trial) -> Deadline {
        // The step after the warm-up has the peak, whatever comes later.
        Deadline { seconds, settled_after: (warmup + 1).max(FEWEST_TIMED), text, trial }
    }

    /// When the run is stopped, in seconds.
    pub fn most(&self) -> f64 {
        MOST * self.seconds
    }

    /// Steps of the whole run, of which `done` are done after `elapsed` seconds and one takes `step`.
    pub fn steps(&self, done: u64, elapsed: f64, step: f64) -> u64 {
        let trial = Trial { step, ..self.trial };
        let seconds = PLANNED * self.seconds - elapsed + done as f64 * step;
        trial.steps(&self.text, seconds).max(FEWEST_STEPS).max(done + 1)
    }

    /// What a run of `steps` steps, which is over after `used` seconds, left of the time, if it is much.
    pub fn unused(&self, used: f64, steps: u64) -> Option<Unused> {
        let left = self.seconds - used;
        let more = (left * steps as f64 / used.max(1e-9)) as u64;
        let by_text = steps >= self.trial.enough(&self.text);
        let steps = (!by_text).then_some(more);
        (used < WELL_USED * self.seconds).then_some(Unused { used, of: self.seconds, steps })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::SIZES;
    use proptest::prelude::*;

    fn deadline(seconds: f64, learned: f64) -> Deadline {
        let text = TextLength { learned, unseen: 1e4, eval_every: 250, most_passes: 10.0 };
        let tokens = (SIZES[0].seq_len * SIZES[0].batch) as f64;
        let trial = Trial { size: 0, step: 0.1, tokens, parameters: 1 << 20 };
        Deadline::new(seconds, 20, text, trial)
    }

    proptest! {
        /// At the speed that was measured the time is used, and not passed; or the text is used up.
        #[test]
        fn what_is_left_is_used(step in 1e-3..2.0f64, seconds in 10.0..4000.0f64, late in 0.0..2.0f64) {
            let of = deadline(seconds, 1e9);
            let done = of.settled_after;
            let elapsed = done as f64 * step + late;
            let steps = of.steps(done, elapsed, step);
            let whole = elapsed + Trial { step, ..of.trial }.seconds(steps, &of.text) - done as f64 * step;
            let fewest = steps == FEWEST_STEPS || steps == done + 1;
            prop_assert!(fewest || whole <= PLANNED * seconds && whole > PLANNED * seconds - 3.0 * step - 40.0 * step);
            let text = deadline(seconds, 1e4);
            prop_assert!(text.steps(done, elapsed, step) <= text.trial.enough(&text.text).max(FEWEST_STEPS));
        }
    }

    #[test]
    fn what_was_not_used_is_said() {
        let of = deadline(100.0, 1e9);
        assert_eq!(of.unused(86.0, 500), None);
        assert_eq!(of.unused(50.0, 500), Some(Unused { used: 50.0, of: 100.0, steps: Some(500) }));
        // More steps would do nothing for a short text.
        let steps = deadline(100.0, 1e4).unused(50.0, 500).unwrap().steps;
        assert_eq!(steps, None);
    }
}
