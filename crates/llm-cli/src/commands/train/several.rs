//! What several processes must have in common before the first step.

use crate::args::TrainArgs;
use crate::crew::Team;
use crate::error::{Result, RunError};
use llm_core::base::{Message, with_causes};
use llm_core::checkpoint::weights_checksum;
use llm_core::crew::micro_batches;
use llm_core::message;
use llm_core::recipe::Recipe;
use llm_core::settings;
use llm_run::defaults::INTERVAL;
use llm_run::options::{Habits, Options};
use llm_run::plan::Plan;

/// Checks that `size` processes can share a step of this run.
///
/// # Errors
/// [`RunError::Usage`] with the numbers that fit, or the flags that make this one fit.
pub(super) fn check_size(args: &TrainArgs, recipe: &Recipe, size: usize) -> Result<()> {
    let Err(unfit) = micro_batches(0, size, recipe.accum.into()) else { return Ok(()) };
    if !size.is_power_of_two() || args.given().contains_key("accum") || recipe.accum > 1 {
        return Err(unfit.into());
    }
    let Recipe { batch_size: batch, seq_len, .. } = *recipe;
    let mut ways = vec![with_causes(&unfit)];
    if batch.is_multiple_of(size) {
        let share = batch / size;
        ways.push(message!(
            "--batch {} --accum {} makes steps of {} tokens as now, {} × {} for each \
             process",
            share,
            size,
            batch * seq_len,
            share,
            seq_len
        ));
    }
    ways.push(message!(
        "--accum {} makes steps of {} tokens, {} × {} for each process",
        size,
        batch * size * seq_len,
        batch,
        seq_len
    ));
    Err(RunError::Usage(
        Message::joined("{}; {}", ways).unwrap_or_else(|| unfit.to_string().into()),
    ))
}

/// Who works on it, for the banner.
pub(super) fn line(size: usize, micro_batches: u32) -> Message {
    let each = micro_batches as usize / size;
    message!("crew    {} processes, each with {} of {} micro-batches", size, each, micro_batches)
}

/// Checks that all processes have the same run before them.
///
/// # Errors
/// [`RunError::Usage`] or [`RunError::Data`] for all, naming the first that differs.
pub(super) fn check_same(team: &mut Team, options: &Options, plan: &Plan) -> Result<()> {
    let trainer = &plan.trainer;
    let (config, recipe) = (trainer.model.config(), &trainer.recipe);
    let data = format!("{:?} {:?}", recipe.data, recipe.val_data);
    team.same("data", data.as_bytes(), |member| {
        RunError::Data(message!("process {} reads other data than process 0", member))
    })?;
    let Habits { eval_every, save_every, skip_spikes, patience, .. } = options.habits;
    let every = [eval_every, save_every].map(|every| every.unwrap_or(INTERVAL));
    let watched = (skip_spikes, patience, options.shard_optimizer, every);
    let attention = trainer.model.attention().spec();
    let course = (trainer.step, plan.steps, &attention, plan.tokenizer.name(), watched);
    let all = format!("{:?} {course:?}", settings::collect(config, recipe)?);
    team.same("settings", all.as_bytes(), |member| {
        RunError::Usage(message!("process {} has other settings than process 0", member))
    })?;
    let weights = weights_checksum(&trainer.model).to_le_bytes();
    team.same("weights", &weights, |member| {
        RunError::Data(message!("process {} has loaded other weights than process 0", member))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::settings::Value;

    fn refused(size: usize, accum: u32, batch: usize, given: bool) -> String {
        let recipe = Recipe { accum, ..Recipe::new([batch, 64], 10, 1e-3) };
        let mut args = TrainArgs::default();
        if given {
            args.recipe.learning.0.insert("accum", Value::Whole(1));
        }
        check_size(&args, &recipe, size).unwrap_err().to_string()
    }

    #[test]
    fn numbers_and_flags_that_fit_are_named() {
        assert_eq!(
            refused(3, 16, 8, false),
            "16 micro-batches can be shared by 1, 2, 4, 8 or 16 processes, not by 3"
        );
        assert_eq!(
            refused(4, 1, 8, false),
            "one micro-batch is for one process, not for 4; --batch 2 --accum 4 makes steps of 512 \
             tokens as now, 2 × 64 for each process; --accum 4 makes steps of 2048 tokens, 8 × 64 for \
             each process"
        );
        assert!(!refused(4, 1, 6, false).contains("as now"));
        assert!(!refused(4, 1, 8, true).contains("--batch"));
    }
}
