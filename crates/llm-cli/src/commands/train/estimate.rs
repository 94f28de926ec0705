//! `--dry-run`: how long the run would take here, from a second or two of it.

use super::Training;
use crate::error::Result;
use crate::events::Event;
use crate::messages::{lasting, plural};
use crate::signals::Signals;
use llm_core::base::thousands;
use llm_core::checkpoint::Snapshot;
use llm_core::kernels::peak;
use llm_core::message;
use llm_core::train::{Ending, Flow, Hooks, RunPlan, StepReport, Trainer};
use llm_core::{TinyGPT, TokenDataset};
use llm_lens::training_flops_with;
use llm_run::data::Validation;
use llm_run::defaults::{INTERVAL, PERIODIC_TOKENS, set_by};
use llm_run::plan::Plan;
use std::time::{Duration, Instant};

/// Steps are measured for this long ..
const STEPS: Duration = Duration::from_millis(1500);
/// .. but so many at least, and the first does not count: it finds caches and buffers empty.
const FEWEST: usize = 3;
/// A step that would take much longer than this is told from shorter ones, ..
const LONG: Duration = Duration::from_millis(500);
/// .. which is judged by the share of the machine's peak that training usually reaches.
const USUAL_SHARE: f64 = 0.5;
/// A measurement is measured for a third of that.
const SCORING: u32 = 3;

/// Steps, and how long each took.
struct Timed<'a> {
    signals: &'a Signals,
    begin: Instant,
    last: Instant,
    fewest: usize,
    seconds: Vec<f64>,
}

impl Hooks for Timed<'_> {
    fn interrupted(&mut self) -> bool {
        self.signals.pending().is_some()
    }

    fn after_step(&mut self, _: Snapshot<'_>, _: &StepReport) -> llm_core::Result<Flow> {
        let now = Instant::now();
        self.seconds.push((now - self.last).as_secs_f64());
        self.last = now;
        let enough = self.seconds.len() >= self.fewest && now - self.begin >= measured_time();
        let over = Flow::Break(Ending::TimeIsUp { left: 0 });
        Ok(if enough { over } else { Flow::Continue(()) })
    }
}

impl Training<'_> {
    /// Does a little of the run, keeps nothing of it, and says how long all of it would take. The
    /// time until now is the time that it takes to begin.
    pub(super) fn estimate(&mut self, plan: &mut Plan) -> Result<()> {
        let beginning = self.clock.begin.elapsed().as_secs_f64();
        let (steps, Some(data)) = (plan.steps, &plan.data) else { return Ok(()) };
        if steps == 0 {
            return Ok(());
        }
        let last = data.val.as_ref().map_or(0, |val| {
            val.most_after(plan.trainer.step.saturating_add(steps), &plan.trainer.recipe)
        });
        let step = step_seconds(&mut plan.trainer, &data.train, &self.signals)?;
        self.signals.check()?;
        let model = &plan.trainer.model;
        let batch_size = plan.trainer.recipe.batch_size;
        let rate = match &data.val {
            Some(val) => tokens_per_second(val, model, batch_size, &self.signals)?,
            None => f64::INFINITY,
        };
        self.signals.check()?;
        let tokens_of = |most| data.val.as_ref().map_or(0, |val| val.tokens_of(most)) as f64;
        let (periodic, all) = (tokens_of(PERIODIC_TOKENS) / rate, tokens_of(last) / rate);
        let times = (steps - 1).checked_div(self.args.eval_every.unwrap_or(INTERVAL)).unwrap_or(0);
        // The last state may be the best: it is measured like the others too.
        let again = if all > periodic { periodic } else { 0.0 };
        let training = step * steps as f64;
        let whole = beginning + training + times as f64 * periodic + all + again;
        let limit = self.args.recipe.max_time.map(|most| most.as_secs_f64());
        let seconds = limit.map_or(whole, |most| most.min(whole));
        let step_ms = 1e3 * step;
        self.emit(&Event::Estimate { seconds, step_ms, measurement_seconds: periodic });
        let limited = if seconds < whole { ", then --max-time ends it" } else { "" };
        let (whole, rest) = (lasting(seconds), lasting(whole - training));
        self.tell(message!(
            "time    about {} here{}: {} {} of {:.1} ms, {} for measurements \
             and the beginning",
            whole,
            limited,
            thousands(steps),
            plural(steps, "step"),
            step_ms,
            rest
        ));
        Ok(())
    }
}

/// How long a step takes. One that would take long is told from two with fewer windows: what every
/// step takes, and what a window does.
fn step_seconds(trainer: &mut Trainer, data: &TokenDataset, signals: &Signals) -> Result<f64> {
    let recipe = &trainer.recipe;
    let all = recipe.batch_size * recipe.accum as usize;
    let (config, attention) = (trainer.model.config(), trainer.model.attention());
    let of_token = training_flops_with(config, &attention.parameters(config), recipe.seq_len);
    let flops = of_token * recipe.seq_len as f64;
    let window = flops / (1e9 * USUAL_SHARE * peak::gflops());
    let few = ((LONG.as_secs_f64() / window) as usize).max(1);
    if window * all as f64 <= LONG.as_secs_f64() * 2.0 || 2 * few >= all {
        return Ok(middle(&mut timed_steps(trainer, data, signals, FEWEST)?));
    }
    // So long that caches and buffers no longer matter.
    let fewest = if window > LONG.as_secs_f64() { 1 } else { 2 };
    let mut some = |windows: usize| {
        (trainer.recipe.batch_size, trainer.recipe.accum) = (windows, 1);
        timed_steps(trainer, data, signals, fewest).map(|mut seconds| middle(&mut seconds))
    };
    let (once, twice) = (some(few)?, some(2 * few)?);
    let of_one = (twice - once).max(0.0) / few as f64;
    Ok(once + (all - few) as f64 * of_one)
}

/// Steps, as many as there are in the time for that, but no fewer than `fewest`.
fn timed_steps(
    trainer: &mut Trainer,
    data: &TokenDataset,
    signals: &Signals,
    fewest: usize,
) -> Result<Vec<f64>> {
    let begin = Instant::now();
    let mut timed = Timed { signals, begin, last: begin, fewest, seconds: Vec::new() };
    trainer.run(data, &RunPlan::new(u64::MAX), &mut timed)?;
    Ok(timed.seconds)
}

/// Tokens that are scored a second.
fn tokens_per_second(
    val: &Validation,
    model: &TinyGPT,
    batch_size: usize,
    signals: &Signals,
) -> Result<f64> {
    let begin = Instant::now();
    let enough = |_| signals.pending().is_some() || begin.elapsed() >= measured_time() / SCORING;
    let scored = val.score(model, batch_size, val.tokens(), enough)?.evaluation.tokens;
    Ok(scored as f64 / begin.elapsed().as_secs_f64().max(1e-9))
}

/// [`STEPS`]; the environment variable `LLM_ESTIMATE_MS` sets another time, for tests.
fn measured_time() -> Duration {
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
