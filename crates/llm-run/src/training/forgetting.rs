//! What a model knew before its steps and knows after them: the unseen part of what it learns, and a text of another
//! kind.

use super::Training;
use super::event::Event;
use super::measuring::measure_some;
use crate::data::{Report, Validation};
use crate::defaults::PERIODIC_TOKENS;
use crate::error::Result;
use crate::log::Forgotten;
use crate::plan::Plan;
use llm_core::train::{Trainer, Work};

/// What was measured before the first step.
pub(super) struct Before {
    unseen: Option<Report>,
    text: Report,
}

impl Training<'_> {
    /// What the model knows before its first step, where that is asked for.
    pub(super) fn before(&mut self, plan: &Plan, work: &mut dyn Work) -> Result<Option<Before>> {
        let Some((_, text)) = &plan.forget else { return Ok(None) };
        let val = plan.data.as_ref().and_then(|data| data.val.as_ref());
        let most = val.map_or(0, |val| most_after(val, plan, plan.trainer.step + plan.steps));
        let unseen = val.map(|val| self.known(val, most, plan, work)).transpose()?;
        Ok(Some(Before { unseen, text: self.known(text, PERIODIC_TOKENS, plan, work)? }))
    }

    /// Says what became of it, if as much was measured now as before.
    pub(super) fn forgotten(
        &mut self,
        before: Option<Before>,
        unseen: Option<&Report>,
        plan: &Plan,
        work: &mut dyn Work,
    ) -> Result<()> {
        let (Some(Before { unseen: was, text }), Some((file, on))) = (before, &plan.forget) else {
            return Ok(());
        };
        let now = self.known(on, PERIODIC_TOKENS, plan, work)?;
        let scored = |report: &Report| report.evaluation.tokens;
        let whole = scored(&text) == scored(&now);
        let bits = text.bits_per_byte().zip(now.bits_per_byte()).filter(|_| whole);
        let same = was.as_ref().zip(unseen).filter(|(was, now)| scored(was) == scored(now));
        let losses = same.map(|(was, now)| [was, now].map(|report| report.evaluation.loss));
        let Some((was, is)) = bits else { return Ok(()) };
        let found = Forgotten { file: file.clone(), bits_per_byte: [was, is], unseen: losses };
        self.face.event(&Event::Forgotten(&found));
        if let Some(journal) = &mut self.store.journal {
            journal.info.forgotten = Some(found);
        }
        Ok(())
    }

    fn known(
        &mut self,
        on: &Validation,
        most: usize,
        plan: &Plan,
        work: &mut dyn Work,
    ) -> Result<Report> {
        let Training { face, clock, .. } = self;
        let Trainer { model, recipe, .. } = &plan.trainer;
        measure_some(work, on, model, [recipe.batch_size, most], (&mut **face, clock))
    }
}

/// Most unseen tokens that are scored after this step.
pub(super) fn most_after(val: &Validation, plan: &Plan, step: u64) -> usize {
    val.most_after(step, &plan.trainer.recipe, plan.trainer.model.parameter_count())
}
