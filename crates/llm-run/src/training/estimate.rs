//! How long a run would take here, from a second or two of it.

use super::forgetting::most_after;
use super::kinds::Estimate;
use crate::clock::TimeBudget;
use crate::data::Validation;
use crate::defaults::{INTERVAL, PERIODIC_TOKENS};
use crate::error::Result;
use crate::options::Options;
use crate::plan::Plan;
use crate::rewards::Asking;
use crate::timing::{FEWEST, Stop, measured_time, middle, step_seconds, timed_steps};
use llm_core::train::{OneProcess, Scored, Trainer, Work};
use std::time::Instant;

/// A measurement is measured for this part of the time in which steps are.
const SCORING: u32 = 3;

/// Does a little of the run, keeps nothing of it, and says how long all of it would take; nothing when
/// there is nothing to do, or when `stop` says so. The time until now is the time that it takes to begin. Without
/// `work` the steps are this process's.
///
/// # Errors
/// What a step or a measurement refuses.
pub fn estimate(
    plan: &mut Plan,
    options: &Options,
    work: Option<&mut dyn Work>,
    clock: &TimeBudget,
    stop: &mut Stop<'_>,
) -> Result<Option<Estimate>> {
    let beginning = clock.begin.elapsed().as_secs_f64();
    let (steps, Some(data)) = (plan.steps, &plan.data) else { return Ok(None) };
    if steps == 0 {
        return Ok(None);
    }
    let end = plan.trainer.step.saturating_add(steps);
    let last = data.val.as_ref().map_or(0, |val| most_after(val, plan, end));
    let (run, time, is_there) = (&mut plan.trainer, measured_time(), work.is_some());
    let (step, work): (_, &mut dyn Work) = match work {
        None => (step_seconds(run, &data.train, stop, time, middle)?, &mut OneProcess),
        Some(work) => {
            let all = timed_steps(run, &data.train, work, stop, (FEWEST, time));
            (middle(&mut all?), work)
        }
    };
    if let Some(val) = data.val.as_ref().filter(|_| is_there) {
        // What is made for the first measurement there is no part of the others.
        let (run, mut once) = (&plan.trainer, false);
        let cut = |_, _, _: &Scored<'_>| std::mem::replace(&mut once, true);
        val.score_together(work, &run.model, run.recipe.batch_size, val.tokens(), cut)?;
    }
    let rate = match &data.val {
        Some(val) if !stop() => tokens_per_second(val, &plan.trainer, work, stop)?,
        _ => f64::INFINITY,
    };
    if stop() {
        return Ok(None);
    }
    let [first, each] = answers(plan, options, work)?;
    let tokens_of = |most| data.val.as_ref().map_or(0, |val| val.tokens_of(most)) as f64;
    let (periodic, all) = (tokens_of(PERIODIC_TOKENS) / rate + each, tokens_of(last) / rate + each);
    let every = options.habits.eval_every.unwrap_or(INTERVAL);
    let times = (steps - 1).checked_div(every).unwrap_or(0);
    // The last state may be the best: it is measured like the others too.
    let again = if all > periodic { periodic } else { 0.0 };
    let training = step * steps as f64;
    let whole = beginning + first + training + times as f64 * periodic + all + again;
    let limit = options.max_time.map(|most| most.as_secs_f64());
    let seconds = limit.map_or(whole, |most| most.min(whole));
    let (rest, is_cut) = (whole - training, seconds < whole);
    Ok(Some(Estimate { seconds, rest, step, measurement: periodic, is_cut }))
}

/// Tokens that are scored a second.
fn tokens_per_second(
    val: &Validation,
    run: &Trainer,
    work: &mut dyn Work,
    stop: &mut Stop<'_>,
) -> Result<f64> {
    let begin = Instant::now();
    let enough = |_, _, _: &Scored<'_>| stop() || begin.elapsed() >= measured_time() / SCORING;
    let report =
        val.score_together(work, &run.model, run.recipe.batch_size, val.tokens(), enough)?;
    Ok(report.evaluation.tokens as f64 / begin.elapsed().as_secs_f64().max(1e-9))
}

/// Seconds of what a run that learns from answers asks besides: before its first step, and at each measurement.
fn answers(plan: &Plan, options: &Options, work: &mut dyn Work) -> Result<[f64; 2]> {
    let (ground, run, begin) = (&plan.ground, &plan.trainer, Instant::now());
    let seconds = |since: Instant| since.elapsed().as_secs_f64();
    if let (Some(pairs), Some(start)) = (&ground.pairs, &ground.start) {
        let count = run.recipe.batch_size;
        let rounds = pairs
            .measured([&run.model, start], [count, count], work)?
            .map_or(0.0, |some| pairs.unseen_count() as f64 / some.pairs as f64);
        return Ok([seconds(begin) * rounds; 2]);
    }
    let in_folder = options.save.is_none() && options.no_save != Some(true);
    let Some(questions) = ground.questions.clone().filter(|_| in_folder) else {
        return Ok([0.0; 2]);
    };
    let mut asking = Asking::new(questions, plan.tokenizer.clone(), Vec::new());
    asking.moment(&run.model, 0, run.recipe.seed)?;
    let (first, again) = (seconds(begin), Instant::now());
    asking.moment(&run.model, 1, run.recipe.seed)?;
    Ok([first, seconds(again)])
}
