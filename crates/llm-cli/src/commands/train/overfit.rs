//! `--overfit`: checks that the model can memorise one batch. If not, something is wrong with the
//! settings.

use super::face::Shown;
use crate::args::TrainArgs;
use crate::error::{Result, RunError};
use crate::events::Event;
use crate::signals::Signals;
use llm_core::message;
use llm_core::train::{Hooks, OneProcess, Update, train_step};
use llm_run::defaults::LOG_EVERY;
use llm_run::plan::Plan;
use llm_run::training::{Event as OfRun, Face, Pace};

/// Steps until a signal comes.
struct Stops<'a>(&'a Signals);

impl Hooks for Stops<'_> {
    fn interrupted(&mut self) -> bool {
        self.0.pending().is_some()
    }
}

/// All steps on the batch of step 0. Nothing is saved.
pub(super) fn overfit(
    args: &TrainArgs,
    plan: &mut Plan,
    signals: &Signals,
    shown: &mut Shown<'_>,
) -> Result<()> {
    let (trainer, Some(data)) = (&mut plan.trainer, &plan.data) else {
        return Err(RunError::Internal("a run without data".into()));
    };
    let recipe = &trainer.recipe;
    let batch = data.train.batch(recipe.seed, 0, [recipe.batch_size, recipe.seq_len])?;
    let mut pace = Pace::new(args.log_every.unwrap_or(LOG_EVERY), plan.steps);
    let (mut first, mut last) = (None, 0.0);
    shown.begin(plan.steps);
    for step in 0..plan.steps {
        let update = Update { step, lr: recipe.schedule.at(step), clip: recipe.clip };
        let (model, optimizer) = (&mut trainer.model, trainer.optimizer.as_mut());
        let (work, mut stops) = (&mut OneProcess, Stops(signals));
        let batches = [Ok(batch.clone())];
        let report = match train_step(model, optimizer, batches, update, work, &mut stops) {
            Err(llm_core::Error::Stopped { .. }) => break,
            done => done?,
        };
        let due = pace.step(report.tokens);
        let Pace { done, total, rate, .. } = pace;
        shown.event(&OfRun::Step { report: &report, done, total, rate, due });
        last = report.loss;
        first.get_or_insert(last);
    }
    shown.finish();
    signals.check()?;
    let first = first.unwrap_or(last);
    let learnt = last < 0.1 * first;
    let tokens = batch.inputs.len() as u64;
    let event = Event::Overfit { tokens, first_loss: first, last_loss: last, learnt };
    shown.speaker.emit(&event);
    shown.speaker.tell(message!(
        "overfit loss of one batch of {} tokens: {:.4} at first, {:.4} at last; {}; nothing is saved",
        tokens,
        first,
        last,
        match learnt {
            true => message!("it was learnt by heart"),
            false => message!("it was not learnt by heart"),
        }
    ));
    Ok(())
}
