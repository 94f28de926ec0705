//! How a rank waits for another.

use std::time::{Duration, Instant};

/// Polling: what to do until the next look.
///
/// Most answers are there within microseconds, so the first looks come one after the other; each
/// gives the core to any process that has work, since processes may be more than cores. A rank that
/// is far behind computes, and the longer it does the less it matters when its answer is seen: naps
/// are a fixed part of what was waited.
#[derive(Debug)]
pub struct Patience {
    deadline: Duration,
    waited: Duration,
    last: Instant,
}

/// What to do until the next look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pause {
    /// Let others work.
    Yield,
    /// Leave the core.
    Nap(Duration),
    /// The deadline is over.
    Over,
}

impl Patience {
    /// No naps before this much was waited.
    const AWAKE: Duration = Duration::from_millis(1);
    /// A nap is this part of what was waited.
    const PART: u32 = 32;
    /// No nap is longer.
    const LONGEST: Duration = Duration::from_millis(1);
    /// More does not go by between two looks, unless this process was stopped or its machine slept.
    /// That is not waiting: the other may have stood still as well.
    const ONE_LOOK: Duration = Duration::from_secs(1);

    /// Waits for so long, and no longer.
    pub fn new(deadline: Duration) -> Patience {
        Patience { deadline, waited: Duration::ZERO, last: Instant::now() }
    }

    /// Passes the time until the next look; `false` when the deadline is over.
    pub fn pause(&mut self) -> bool {
        match self.next(Instant::now()) {
            Pause::Yield => std::thread::yield_now(),
            Pause::Nap(nap) => std::thread::sleep(nap),
            Pause::Over => return false,
        }
        true
    }

    fn next(&mut self, now: Instant) -> Pause {
        self.waited += now.saturating_duration_since(self.last).min(Patience::ONE_LOOK);
        self.last = now;
        match self.waited {
            waited if waited > self.deadline => Pause::Over,
            waited if waited < Patience::AWAKE => Pause::Yield,
            waited => Pause::Nap((waited / Patience::PART).min(Patience::LONGEST)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn naps_grow_with_what_was_waited_until_the_deadline() {
        let mut patience = Patience::new(100 * MS);
        let start = patience.last;
        assert_eq!(patience.next(start + MS / 2), Pause::Yield);
        assert_eq!(patience.next(start + 16 * MS), Pause::Nap(MS / 2));
        assert_eq!(patience.next(start + 100 * MS), Pause::Nap(MS));
        assert_eq!(patience.next(start + 101 * MS), Pause::Over);
    }

    #[test]
    fn a_process_that_was_stopped_has_not_waited() {
        let mut patience = Patience::new(Duration::from_secs(5));
        let start = patience.last;
        assert_eq!(patience.next(start + Duration::from_secs(3600)), Pause::Nap(MS));
        for second in 1..=4 {
            assert_ne!(patience.next(start + Duration::from_secs(3600 + second)), Pause::Over);
        }
        assert_eq!(patience.next(start + Duration::from_secs(3605)), Pause::Over);
    }
}
