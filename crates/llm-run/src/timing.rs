//! How long a training step takes on this machine, from a second or two of steps.

use crate::defaults::set_by;
use crate::error::Result;
use llm_core::TokenDataset;
use llm_core::checkpoint::Snapshot;
use llm_core::kernels::peak;
use llm_core::model::Footprint;
use llm_core::train::{Ending, Flow, Hooks, OneProcess, RunPlan, StepReport, Trainer, Work};
use llm_lens::training_flops;
use std::time::{Duration, Instant};

/// Time for which steps are measured.
const STEPS: Duration = Duration::from_millis(1500);
/// Fewest steps that are measured. The first does not count: it finds caches and buffers empty.
pub(crate) const FEWEST: usize = 3;
/// A step that would take much longer than this is estimated from shorter ones.
const LONG: Duration = Duration::from_millis(500);
/// Share of the machine's peak that training usually reaches, by which a long step is recognised.
const USUAL_SHARE: f64 = 0.5;
/// Whether to stop measuring.
pub(crate) type Stop<'a> = dyn FnMut() -> bool + Send + 'a;

/// Steps, and how long each took.
struct Timed<'a> {
    stop: &'a mut Stop<'a>,
    begin: Instant,
    last: Instant,
    fewest: usize,
    time: Duration,
    seconds: Vec<f64>,
}

impl Hooks for Timed<'_> {
    fn waits(&mut self) -> bool {
        false
    }

    fn interrupted(&mut self) -> bool {
        (self.stop)()
    }

    fn after_step(&mut self, _: Snapshot<'_>, _: &StepReport) -> llm_core::Result<Flow> {
        let now = Instant::now();
        self.seconds.push((now - self.last).as_secs_f64());
        self.last = now;
        let enough = self.seconds.len() >= self.fewest && now - self.begin >= self.time;
        let over = Flow::Break(Ending::TimeIsUp { left: 0 });
        Ok(if enough { over } else { Flow::Continue(()) })
    }
}

/// How long a step takes, by steps for about `time`, and what is made `of` them. One that would take long is estimated from two with fewer windows: what
/// every step takes, and what a window does.
pub(crate) fn step_seconds(
    trainer: &mut Trainer,
    data: &TokenDataset,
    stop: &mut Stop<'_>,
    time: Duration,
    of: fn(&mut [f64]) -> f64,
) -> Result<f64> {
    let recipe = &trainer.recipe;
    let all = recipe.batch_size * recipe.accum as usize;
    let footprint = Footprint::new(trainer.model.config(), trainer.model.attention().as_ref());
    let of_token = training_flops(&footprint, recipe.seq_len);
    let flops = of_token * recipe.seq_len as f64;
    let window = flops / (1e9 * USUAL_SHARE * peak::gflops());
    let few = ((LONG.as_secs_f64() / window) as usize).max(1);
    if window * all as f64 <= LONG.as_secs_f64() * 2.0 || 2 * few >= all {
        return Ok(of(&mut timed_steps(trainer, data, &mut OneProcess, stop, (FEWEST, time))?));
    }
    // So long that caches and buffers no longer matter.
    let fewest = if window > LONG.as_secs_f64() { 1 } else { 2 };
    let mut some = |windows: usize| {
        (trainer.recipe.batch_size, trainer.recipe.accum) = (windows, 1);
        timed_steps(trainer, data, &mut OneProcess, stop, (fewest, time))
            .map(|mut seconds| of(&mut seconds))
    };
    let (once, twice) = (some(few)?, some(2 * few)?);
    let of_one = (twice - once).max(0.0) / few as f64;
    Ok(once + (all - few) as f64 * of_one)
}

/// Steps, as many as there are in the time for that, but no fewer than `fewest`.
pub(crate) fn timed_steps(
    trainer: &mut Trainer,
    data: &TokenDataset,
    work: &mut dyn Work,
    stop: &mut Stop<'_>,
    (fewest, time): (usize, Duration),
) -> Result<Vec<f64>> {
    let begin = Instant::now();
    let mut timed = Timed { stop, begin, last: begin, fewest, time, seconds: Vec::new() };
    trainer.run(data, &RunPlan::new(u64::MAX), work, &mut timed)?;
    Ok(timed.seconds)
}

/// [`STEPS`]; the environment variable `LLM_ESTIMATE_MS` sets another time, for tests.
pub(crate) fn measured_time() -> Duration {
    set_by("LLM_ESTIMATE_MS").map_or(STEPS, Duration::from_millis)
}

/// The shortest.
pub(crate) fn fastest(seconds: &mut [f64]) -> f64 {
    seconds.iter().copied().reduce(f64::min).unwrap_or(0.0)
}

/// The middle one of all but the first.
pub(crate) fn middle(seconds: &mut [f64]) -> f64 {
    let from = usize::from(seconds.len() > 1);
    let rest = &mut seconds[from..];
    rest.sort_by(f64::total_cmp);
    rest.get(rest.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_does_not_count() {
        for (seconds, want) in [
            (&mut [9.0, 3.0, 1.0, 2.0][..], 2.0),
            (&mut [9.0, 1.0][..], 1.0),
            (&mut [9.0][..], 9.0),
        ] {
            assert_eq!(middle(seconds), want);
        }
    }
}
