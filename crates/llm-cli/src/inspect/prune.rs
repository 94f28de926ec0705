//! What a model loses without each of its heads, and in which order they can go.

use crate::report::{Pruned, Pruning};
use llm_core::train::FactTable;
use llm_core::{Attention, AttentionSpec, Error, TinyGPT};
use std::sync::Arc;

/// How good a model is.
#[derive(Clone, Debug)]
pub struct Score {
    /// Validation loss, in nats for a token.
    pub loss: f64,
    /// With the built-in stories.
    pub facts: Option<FactTable>,
}

impl Score {
    /// Facts right, 0..=1.
    pub fn facts_share(&self) -> Option<f64> {
        self.facts.as_ref().map(|facts| facts.total().share())
    }
}

/// A head switched off, and how good the model is then.
#[derive(Clone, Debug)]
pub struct Scored {
    /// Its block, from 0.
    pub layer: usize,
    /// Its number in the block, from 0.
    pub head: usize,
    /// Without it.
    pub score: Score,
}

/// Makes the attention of a spec.
pub type FromSpec = fn(&AttentionSpec) -> Result<Arc<dyn Attention>, Error>;

/// Switches heads of one model off and measures what is left.
pub struct Pruner<'a, M> {
    model: &'a TinyGPT,
    from_spec: FromSpec,
    measure: M,
}

impl<'a, E: From<Error>, M: FnMut(&TinyGPT) -> Result<Score, E>> Pruner<'a, M> {
    /// With what makes an attention, and what says how good a model is.
    pub fn new(model: &'a TinyGPT, from_spec: FromSpec, measure: M) -> Pruner<'a, M> {
        Pruner { model, from_spec, measure }
    }

    /// H.
    pub fn n_heads(&self) -> usize {
        self.model.attention().spec().n_heads
    }

    /// For each head whether it is on in the model, `[L·H]`.
    pub fn mask(&self) -> Vec<bool> {
        let AttentionSpec { n_heads, head_mask, .. } = self.model.attention().spec();
        match head_mask.is_empty() {
            true => vec![true; n_heads * self.model.config().n_layers],
            false => head_mask,
        }
    }

    /// The same parameters with these heads on.
    ///
    /// # Errors
    /// What the attention says that cannot do so.
    pub fn with_mask(&self, mask: &[bool]) -> Result<TinyGPT, E> {
        let spec = self.model.attention().spec();
        let head_mask = if mask.iter().all(|on| *on) { Vec::new() } else { mask.to_vec() };
        let attention = (self.from_spec)(&AttentionSpec { head_mask, ..spec })?;
        Ok(self.model.attending_with(attention)?)
    }

    /// How good the model is with these heads on.
    ///
    /// # Errors
    /// As [`Pruner::with_mask`]; what measuring says.
    pub fn score(&mut self, mask: &[bool]) -> Result<Score, E> {
        let model = self.with_mask(mask)?;
        (self.measure)(&model)
    }

    /// Each head that is on in `mask`, switched off by itself.
    ///
    /// # Errors
    /// As [`Pruner::score`].
    pub fn each_alone(&mut self, mask: &[bool]) -> Result<Vec<Scored>, E> {
        let n_heads = self.n_heads();
        let mut found = Vec::new();
        for i in (0..mask.len()).filter(|&i| mask[i]) {
            let mut without = mask.to_vec();
            without[i] = false;
            let score = self.score(&without)?;
            found.push(Scored { layer: i / n_heads, head: i % n_heads, score });
        }
        Ok(found)
    }

    /// At most `most` heads one after the other: each time all that are left are tried, and the
    /// least missed one stays off. `alone` is what [`Pruner::each_alone`] found for the model
    /// itself; `told` hears of each.
    ///
    /// # Errors
    /// As [`Pruner::score`].
    pub fn greedy(
        &mut self,
        alone: &[Scored],
        most: usize,
        mut told: impl FnMut(&Scored),
    ) -> Result<Vec<Scored>, E> {
        let n_heads = self.n_heads();
        let mut mask = self.mask();
        let mut order: Vec<Scored> = Vec::new();
        while order.len() < most {
            let tried = match order.is_empty() {
                true => alone.to_vec(),
                false => self.each_alone(&mask)?,
            };
            // Of equals the first.
            let loss =
                |s: &Scored| if s.score.loss.is_nan() { f64::INFINITY } else { s.score.loss };
            let least = tried.into_iter().min_by(|a, b| loss(a).total_cmp(&loss(b)));
            let Some(least) = least else { break };
            mask[least.layer * n_heads + least.head] = false;
            told(&least);
            order.push(least);
        }
        Ok(order)
    }
}

/// Measurements that [`Pruner::each_alone`] and [`Pruner::greedy`] take together, for `heads` that
/// are on and at most `most` to go.
pub(crate) fn measurements(heads: usize, most: usize) -> usize {
    (1..most).fold(heads, |sum, gone| sum + heads.saturating_sub(gone))
}

/// The findings as a page shows them.
pub(crate) fn pruning(whole: &Score, alone: &[Scored], greedy: &[Scored]) -> Pruning {
    let pruned = |s: &Scored| Pruned {
        layer: s.layer,
        head: s.head,
        loss: s.score.loss,
        facts: s.score.facts_share(),
    };
    Pruning {
        loss: whole.loss,
        facts: whole.facts_share(),
        alone: alone.iter().map(pruned).collect(),
        greedy: greedy.iter().map(pruned).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_are_counted() {
        assert_eq!(measurements(8, 8), 36);
        assert_eq!(measurements(8, 1), 8);
        assert_eq!(measurements(8, 2), 15);
        assert_eq!(measurements(8, 0), 8);
        assert_eq!(measurements(3, 9), 6);
    }
}
