//! What a model loses without each of its heads, and in which order they can go.

use llm_core::{Attention, AttentionSpec, Error, Result as CoreResult, TinyGPT};
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// How good a model is.
#[derive(Clone, Debug)]
pub struct Score<D = ()> {
    /// Validation loss, in nats per token.
    pub loss: f64,
    /// Whatever else the caller measured with it.
    pub details: D,
}

/// A head by its place, which is written `layer.head`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HeadName {
    /// Number of the block, from 0.
    pub layer: usize,
    /// Number of the head in the block, from 0.
    pub head: usize,
}

impl fmt::Display for HeadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.layer, self.head)
    }
}

/// A head switched off, and how good the model is then.
#[derive(Clone, Debug)]
pub struct Scored<D = ()> {
    /// The head.
    pub head: HeadName,
    /// The model's score without the head.
    pub score: Score<D>,
}

/// Heads that are to go.
#[derive(Clone, Debug)]
pub enum Cut {
    /// The named heads.
    Named(Vec<HeadName>),
    /// This number of the least missed ones; without a number all, one after the other, and in the
    /// end all are on again.
    LeastMissed(Option<usize>),
}

impl Cut {
    /// Measurements that it takes for a model with `on` heads on, that of the whole model among
    /// them.
    pub fn measurements(&self, on: usize) -> usize {
        match self {
            Cut::Named(_) => 2,
            Cut::LeastMissed(most) => {
                (1..most.unwrap_or(on)).fold(1 + on, |sum, gone| sum + on.saturating_sub(gone))
            }
        }
    }
}

/// What is lost without which heads.
#[derive(Clone, Debug)]
pub struct PruneReport<D = ()> {
    /// With all heads that the model has on.
    pub whole: Score<D>,
    /// Each of them alone switched off; nothing when the heads to go were named.
    pub alone: Vec<Scored<D>>,
    /// One after the other, each with all before it off too.
    pub greedy: Vec<Scored<D>>,
    /// What is left without those that are to go, when some are.
    pub dropped: Option<Dropped<D>>,
}

/// Heads that go.
#[derive(Clone, Debug)]
pub struct Dropped<D = ()> {
    /// The heads.
    pub heads: Vec<HeadName>,
    /// What is on without them, `[L·H]`.
    pub mask: Vec<bool>,
    /// How good the model is then.
    pub score: Score<D>,
}

/// The caller's way to make the attention of a spec: a variant's `from_spec`.
pub type FromSpec<'a> = dyn Fn(&AttentionSpec) -> Result<Arc<dyn Attention>, Error> + 'a;

/// For each head whether it is on in the model, `[L·H]`, layer by layer.
pub fn head_mask(model: &TinyGPT) -> Vec<bool> {
    let AttentionSpec { n_heads, head_mask, .. } = model.attention().spec();
    if head_mask.is_empty() { vec![true; n_heads * model.config().n_layers] } else { head_mask }
}

/// The model with these heads on and the others off, `[L·H]`; its parameters are shared, not copied.
///
/// # Errors
/// What the attention says that cannot do so.
pub fn with_head_mask(model: &TinyGPT, mask: &[bool], make: &FromSpec<'_>) -> CoreResult<TinyGPT> {
    let head_mask = if mask.iter().all(|on| *on) { Vec::new() } else { mask.to_vec() };
    let attention = make(&AttentionSpec { head_mask, ..model.attention().spec() })?;
    model.attending_with(attention)
}

/// Switches heads of one model off and measures what is left.
pub struct Pruner<'a, M> {
    model: &'a TinyGPT,
    from_spec: &'a FromSpec<'a>,
    measure: M,
}

impl<M> fmt::Debug for Pruner<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pruner").field("model", self.model).finish_non_exhaustive()
    }
}

impl<'a, D: Clone, E: From<Error>, M: FnMut(&TinyGPT) -> Result<Score<D>, E>> Pruner<'a, M> {
    /// With what makes an attention, and what says how good a model is.
    pub fn new(model: &'a TinyGPT, from_spec: &'a FromSpec<'a>, measure: M) -> Pruner<'a, M> {
        Pruner { model, from_spec, measure }
    }

    /// How good the model is with these heads on.
    ///
    /// # Errors
    /// As [`with_head_mask`]; what measuring says.
    pub fn score(&mut self, mask: &[bool]) -> Result<Score<D>, E> {
        let model = with_head_mask(self.model, mask, self.from_spec)?;
        (self.measure)(&model)
    }

    /// Each head that is on in `mask`, switched off by itself.
    ///
    /// # Errors
    /// As [`Pruner::score`].
    pub fn each_alone(&mut self, mask: &[bool]) -> Result<Vec<Scored<D>>, E> {
        let n_heads = self.model.attention().spec().n_heads;
        let mut found = Vec::new();
        for i in (0..mask.len()).filter(|&i| mask[i]) {
            let mut without = mask.to_vec();
            without[i] = false;
            let score = self.score(&without)?;
            found.push(Scored { head: HeadName { layer: i / n_heads, head: i % n_heads }, score });
        }
        Ok(found)
    }

    /// At most `most` heads one after the other: each time all that are left are tried, and the
    /// least missed one stays off. `alone` is what [`Pruner::each_alone`] found for the model
    /// itself; `told` is called with each.
    ///
    /// # Errors
    /// As [`Pruner::score`].
    pub fn greedy(
        &mut self,
        alone: &[Scored<D>],
        most: usize,
        mut told: impl FnMut(&Scored<D>),
    ) -> Result<Vec<Scored<D>>, E> {
        let n_heads = self.model.attention().spec().n_heads;
        let mut mask = head_mask(self.model);
        let mut order: Vec<Scored<D>> = Vec::new();
        while order.len() < most {
            let tried = if order.is_empty() { alone.to_vec() } else { self.each_alone(&mask)? };
            // Of equals the first.
            let loss =
                |s: &Scored<D>| if s.score.loss.is_nan() { f64::INFINITY } else { s.score.loss };
            let least = tried.into_iter().min_by(|a, b| loss(a).total_cmp(&loss(b)));
            let Some(least) = least else { break };
            switch_off(&mut mask, &least.head, n_heads);
            told(&least);
            order.push(least);
        }
        Ok(order)
    }

    /// What `cut` takes from the model, of which `whole` is the [`score`](Pruner::score); `told` is
    /// called with each head of the greedy order.
    ///
    /// # Errors
    /// As [`Pruner::score`].
    pub fn find(
        &mut self,
        whole: Score<D>,
        cut: &Cut,
        told: impl FnMut(&Scored<D>),
    ) -> Result<PruneReport<D>, E> {
        let n_heads = self.model.attention().spec().n_heads;
        let mut mask = head_mask(self.model);
        let (mut alone, mut greedy) = (Vec::new(), Vec::new());
        let heads = match cut {
            Cut::Named(heads) => heads.clone(),
            Cut::LeastMissed(most) => {
                alone = self.each_alone(&mask)?;
                greedy = self.greedy(&alone, most.unwrap_or(mask.len()), told)?;
                greedy.iter().filter(|_| most.is_some()).map(|s| s.head).collect()
            }
        };
        heads.iter().for_each(|head| switch_off(&mut mask, head, n_heads));
        let dropped = match (heads.is_empty(), greedy.last()) {
            (true, _) => None,
            (false, Some(last)) => Some(Dropped { heads, mask, score: last.score.clone() }),
            (false, None) => Some(Dropped { score: self.score(&mask)?, heads, mask }),
        };
        Ok(PruneReport { whole, alone, greedy, dropped })
    }
}

fn switch_off(mask: &mut [bool], head: &HeadName, n_heads: usize) {
    mask[head.layer * n_heads + head.head] = false;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_are_counted() {
        let of = |on, most| Cut::LeastMissed(most).measurements(on);
        assert_eq!([of(8, None), of(8, Some(8))], [37; 2]);
        assert_eq!([0, 1, 2].map(|most| of(8, Some(most))), [9, 9, 16]);
        assert_eq!(of(3, Some(9)), 7);
        assert_eq!(Cut::Named(Vec::new()).measurements(8), 2);
    }
}
