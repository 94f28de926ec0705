//! How long a run would take here, from a second or two of it.

use super::kinds::Estimate;
use crate::clock::TimeBudget;
use crate::data::Validation;
use crate::defaults::{INTERVAL, PERIODIC_TOKENS, set_by};
use crate::error::Result;
use crate::options::Options;
use crate::plan::Plan;
use llm_core::checkpoint::Snapshot;
use llm_core::kernels::peak;
use llm_core::model::Footprint;
use llm_core::train::{Ending, Flow, Hooks, OneProcess, RunPlan, StepReport, Trainer};
use llm_core::{TinyGPT, TokenDataset};
use llm_lens::training_flops;
use std::time::{Duration, Instant};

/// Time for which steps are measured.
const STEPS: Duration = Duration::from_millis(1500);
/// Fewest steps that are measured. The first does not count: it finds caches and buffers empty.
const FEWEST: usize = 3;
/// A step that would take much longer than this is estimated from shorter ones.
const LONG: Duration = Duration::from_millis(500);
/// Share of the machine's peak that training usually reaches, by which a long step is recognised.
const USUAL_SHARE: f64 = 0.5;
/// A measurement is measured for a third of that.
const SCORING: u32 = 3;

/// Whether to stop measuring.
type Stop<'a> = dyn FnMut() -> bool + Send + 'a;

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

/// Does a little of the run, keeps nothing of it, and says how long all of it would take; nothing when
/// there is nothing to do, or when `stop` says so. The time until now is the time that it takes to begin.
///
/// # Errors
/// What a step or a measurement refuses.
pub fn estimate(
    plan: &mut Plan,
    options: &Options,
    clock: &TimeBudget,
    stop: &mut Stop<'_>,
) -> Result<Option<Estimate>> {
    let beginning = clock.begin.elapsed().as_secs_f64();
    let (steps, Some(data)) = (plan.steps, &plan.data) else { return Ok(None) };
    if steps == 0 {
        return Ok(None);
    }
    let last = data.val.as_ref().map_or(0, |val| {
        let (step, parameters) = (plan.trainer.step, plan.trainer.model.parameter_count());
        val.most_after(step.saturating_add(steps), &plan.trainer.recipe, parameters)
    });
    let step = step_seconds(&mut plan.trainer, &data.train, stop, measured_time())?;
    let model = &plan.trainer.model;
    let batch_size = plan.trainer.recipe.batch_size;
    let rate = match &data.val {
        Some(val) if !stop() => tokens_per_second(val, model, batch_size, stop)?,
        _ => f64::INFINITY,
    };
    if stop() {
        return Ok(None);
    }
    let tokens_of = |most| data.val.as_ref().map_or(0, |val| val.tokens_of(most)) as f64;
    let (periodic, all) = (tokens_of(PERIODIC_TOKENS) / rate, tokens_of(last) / rate);
    let every = options.habits.eval_every.unwrap_or(INTERVAL);
    let times = (steps - 1).checked_div(every).unwrap_or(0);
    // The last state may be the best: it is measured like the others too.
    let again = if all > periodic { periodic } else { 0.0 };
    let training = step * steps as f64;
    let whole = beginning + training + times as f64 * periodic + all + again;
    let limit = options.max_time.map(|most| most.as_secs_f64());
    let seconds = limit.map_or(whole, |most| most.min(whole));
    let (rest, is_cut) = (whole - training, seconds < whole);
    Ok(Some(Estimate { seconds, rest, step, measurement: periodic, is_cut }))
}

/// How long a step takes, by steps for about `time`. One that would take long is estimated from two with fewer windows: what
/// every step takes, and what a window does.
pub(crate) fn step_seconds(
    trainer: &mut Trainer,
    data: &TokenDataset,
    stop: &mut Stop<'_>,
    time: Duration,
) -> Result<f64> {
    let recipe = &trainer.recipe;
    let all = recipe.batch_size * recipe.accum as usize;
    let footprint = Footprint::new(trainer.model.config(), trainer.model.attention().as_ref());
    let of_token = training_flops(&footprint, recipe.seq_len);
    let flops = of_token * recipe.seq_len as f64;
    let window = flops / (1e9 * USUAL_SHARE * peak::gflops());
    let few = ((LONG.as_secs_f64() / window) as usize).max(1);
    if window * all as f64 <= LONG.as_secs_f64() * 2.0 || 2 * few >= all {
        return Ok(middle(&mut timed_steps(trainer, data, stop, (FEWEST, time))?));
    }
    // So long that caches and buffers no longer matter.
    let fewest = if window > LONG.as_secs_f64() { 1 } else { 2 };
    let mut some = |windows: usize| {
        (trainer.recipe.batch_size, trainer.recipe.accum) = (windows, 1);
        timed_steps(trainer, data, stop, (fewest, time)).map(|mut seconds| middle(&mut seconds))
    };
    let (once, twice) = (some(few)?, some(2 * few)?);
    let of_one = (twice - once).max(0.0) / few as f64;
    Ok(once + (all - few) as f64 * of_one)
}

/// Steps, as many as there are in the time for that, but no fewer than `fewest`.
fn timed_steps(
    trainer: &mut Trainer,
    data: &TokenDataset,
    stop: &mut Stop<'_>,
    (fewest, time): (usize, Duration),
) -> Result<Vec<f64>> {
    let begin = Instant::now();
    let mut timed = Timed { stop, begin, last: begin, fewest, time, seconds: Vec::new() };
    trainer.run(data, &RunPlan::new(u64::MAX), &mut OneProcess, &mut timed)?;
    Ok(timed.seconds)
}

/// Tokens that are scored a second.
fn tokens_per_second(
    val: &Validation,
    model: &TinyGPT,
    batch_size: usize,
    stop: &mut Stop<'_>,
) -> Result<f64> {
    let begin = Instant::now();
    let enough = |_| stop() || begin.elapsed() >= measured_time() / SCORING;
    let scored = val.score(model, batch_size, val.tokens(), enough)?.evaluation.tokens;
    Ok(scored as f64 / begin.elapsed().as_secs_f64().max(1e-9))
}

/// [`STEPS`]; the environment variable `LLM_ESTIMATE_MS` sets another time, for tests.
pub(crate) fn measured_time() -> Duration {
    set_by("LLM_ESTIMATE_MS").map_or(STEPS, Duration::from_millis)
}

/// The middle one of all but the first.
fn middle(seconds: &mut [f64]) -> f64 {
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
