//! Which heads look at an answer, and which carry it, as a run learns.

use crate::data::{LARGEST_PATCHED, unseen_twins};
use crate::log::HeadMoment;
use crate::plan::Plan;
use llm_core::{Result, TinyGPT};
use llm_lens::{At, Pair, Part, Reading, What, attention_maps};
use llm_stories::FactKind;

/// Pairs of stories. They are few and short, and are read a few times in a run: what is measured on the way
/// shall cost little.
const PAIRS: usize = 4;
/// Longest beginning of a story that is read, in tokens.
const LONGEST: usize = 80;
/// Times in a run that the heads are asked.
const TIMES: u64 = 12;

/// Pairs of unseen stories that ask for the other person.
#[derive(Debug)]
pub(super) struct Causes {
    pairs: Vec<Pair>,
    /// The last step of the run.
    total: u64,
}

impl Causes {
    /// The pairs of a run that learns the stories; none where its model is large, or shows nothing.
    pub(super) fn of(plan: &Plan) -> Causes {
        let (model, recipe) = (&plan.trainer.model, &plan.trainer.recipe);
        let (longest, kind) = (LONGEST.min(model.config().seq_len), FactKind::OtherPerson);
        let is_small = model.parameter_count() <= LARGEST_PATCHED;
        let found = || unseen_twins(&recipe.data, kind, plan.tokenizer.as_ref(), longest, PAIRS);
        let pairs = is_small.then(found).flatten().unwrap_or_default();
        Causes { pairs, total: plan.trainer.step + plan.steps }
    }

    /// Whether the heads are asked after a step: at even distances, but at the end, where they are asked in any
    /// case.
    pub(super) fn are_asked_at(&self, step: u64) -> bool {
        let every = self.total.div_ceil(TIMES).max(1);
        !self.pairs.is_empty() && step.is_multiple_of(every) && step < self.total
    }

    /// What the heads do after a step; nothing without pairs.
    ///
    /// # Errors
    /// As [`Reading::new`]; an attention that does not show its weights.
    pub(super) fn moment(&self, step: u64, model: &TinyGPT) -> Result<Option<HeadMoment>> {
        let (layers, heads) = (model.config().n_layers, model.attention().spec().n_heads);
        let all = (0..layers).flat_map(|layer| (0..heads).map(move |head| (layer, head)));
        let part = |(layer, head)| Part { layer, what: What::Head(head), at: At::Last };
        let parts: Vec<Part> = all.map(part).collect();
        let zeros = vec![vec![0.0; heads]; layers];
        let pairs = self.pairs.len();
        let mut moment = HeadMoment { step, pairs, right: 0, looks: zeros.clone(), moves: zeros };
        for pair in &self.pairs {
            let reading = Reading::new(model, pair)?;
            moment.right += usize::from(reading.is_right());
            let maps = attention_maps(model, &pair.clean, pair.clean.len())?;
            let moved = reading.moves(&parts)?;
            for (Part { layer, what, .. }, moved) in parts.iter().zip(moved) {
                let What::Head(head) = *what else { continue };
                let row = maps.layers[*layer][head].last();
                let weight = |i: usize| row.and_then(|row| row.get(i)).copied().unwrap_or_default();
                let looks: f64 = pair.changed().into_iter().map(|i| f64::from(weight(i))).sum();
                moment.looks[*layer][head] += looks / pairs as f64;
                moment.moves[*layer][head] += moved / pairs as f64;
            }
        }
        Ok((pairs > 0).then_some(moment))
    }
}
