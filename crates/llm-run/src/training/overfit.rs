//! Whether a model can memorise one batch. If not, something is wrong with the settings.

use super::course::Pace;
use super::event::{Event, Face};
use super::kinds::Overfit;
use crate::error::{Result, RunError};
use crate::plan::Plan;
use llm_core::train::{Hooks, OneProcess, Update, train_step};

/// Stops when a signal comes.
struct Stops<'a>(&'a mut dyn Face);

impl Hooks for Stops<'_> {
    fn interrupted(&mut self) -> bool {
        self.0.signal().is_some()
    }
}

/// All steps of the plan on the batch of step 0, with a report every `log_every` steps. Nothing is
/// saved.
///
/// # Errors
/// What a step refuses.
pub(super) fn overfit(plan: &mut Plan, log_every: u64, face: &mut dyn Face) -> Result<Overfit> {
    let (trainer, Some(data)) = (&mut plan.trainer, &plan.data) else {
        return Err(RunError::Internal("a run without data".into()));
    };
    let recipe = &trainer.recipe;
    let batch = data.train.batch(recipe.seed, 0, [recipe.batch_size, recipe.seq_len])?;
    face.event(&Event::Begin(plan.steps));
    let mut pace = Pace::new(log_every, plan.steps);
    let (mut first, mut last_loss) = (None, 0.0);
    for step in 0..plan.steps {
        let update = Update { step, lr: recipe.schedule.at(step), clip: recipe.clip };
        let (model, optimizer) = (&mut trainer.model, trainer.optimizer.as_mut());
        let (work, mut stops) = (&mut OneProcess, Stops(face));
        let batches = [Ok(batch.clone())];
        let report = match train_step(model, optimizer, batches, update, work, &mut stops) {
            Err(llm_core::Error::Stopped { .. }) => break,
            done => done?,
        };
        let due = pace.step(report.tokens);
        let Pace { done, total, rate, .. } = pace;
        let (rewards, pairs) = (None, None);
        face.event(&Event::Step { report: &report, done, total, rate, due, rewards, pairs });
        last_loss = report.loss;
        first.get_or_insert(last_loss);
    }
    let (tokens, first_loss) = (batch.inputs.len() as u64, first.unwrap_or(last_loss));
    Ok(Overfit { tokens, first_loss, last_loss })
}
