//! `--overfit`: can the model learn one batch by heart? If not, something is wrong with the settings.

use super::Training;
use crate::error::{Result, RunError};
use crate::events::Event;
use crate::progress::{Progress, Shown};
use llm_core::message;
use llm_core::train::{Update, train_step};
use llm_run::defaults::LOG_EVERY;
use llm_run::plan::Plan;

impl Training<'_> {
    /// All steps on the batch of step 0. Nothing is saved.
    pub(super) fn overfit(&mut self, plan: &mut Plan) -> Result<()> {
        let (trainer, Some(data)) = (&mut plan.trainer, &plan.data) else {
            return Err(RunError::Internal("a run without data".into()));
        };
        let recipe = &trainer.recipe;
        let batch = data.train.batch(recipe.seed, 0, [recipe.batch_size, recipe.seq_len])?;
        let log_every = self.args.log_every.unwrap_or(LOG_EVERY);
        let progress = Progress::new(&self.args.output, log_every, plan.steps);
        let out = std::mem::take(&mut self.out);
        let mut shown = Shown::new(progress, self.signals.clone(), out);
        let (mut first, mut last) = (None, 0.0);
        for step in 0..plan.steps {
            let update = Update { step, lr: recipe.schedule.at(step), clip: recipe.clip };
            let (model, optimizer) = (&mut trainer.model, trainer.optimizer.as_mut());
            let report = match train_step(model, optimizer, [Ok(batch.clone())], update, &mut shown)
            {
                Err(llm_core::Error::Stopped { .. }) => break,
                done => done?,
            };
            shown.step(&report);
            last = report.loss;
            first.get_or_insert(last);
        }
        self.out = shown.finish();
        self.signals.check()?;
        let first = first.unwrap_or(last);
        let learnt = last < 0.1 * first;
        let tokens = batch.inputs.len() as u64;
        self.emit(&Event::Overfit { tokens, first_loss: first, last_loss: last, learnt });
        self.tell(message!(
            "overfit loss of one batch of {} tokens: {:.4} at first, {:.4} at last; {}; \
             nothing is saved",
            tokens,
            first,
            last,
            if learnt { "it was learnt by heart" } else { "it was not learnt by heart" }
        ));
        Ok(())
    }
}
