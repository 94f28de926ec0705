//! Everything that a model computes for one text.

use crate::maps::does_not_show;
use crate::patch::Patches;
use llm_core::base::memory;
use llm_core::model::{Probe, Site};
use llm_core::ndarray::{Array2, Array3, ArrayView2, ArrayView3, Axis};
use llm_core::{Error, Result, TinyGPT, TokenId, no_grad};
use std::cell::RefCell;

/// What one block computes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockInside {
    /// P `[H, T, T]`: row i holds the weights of query i.
    pub weights: Array3<f32>,
    /// `[T, H·D]`: the heads side by side, before their projection.
    pub heads: Array2<f32>,
    /// `[T, C]`: what the attention adds to the stream.
    pub attention: Array2<f32>,
    /// `[T, I]`: the MLP between its two products, behind the activation.
    pub hidden: Array2<f32>,
    /// `[T, C]`: what the MLP adds to the stream.
    pub mlp: Array2<f32>,
    /// `[T, C]`: the residual stream before the block.
    pub before: Array2<f32>,
    /// `[T, C]`: between attention and MLP.
    pub between: Array2<f32>,
    /// `[T, C]`: behind the block.
    pub behind: Array2<f32>,
}

impl BlockInside {
    /// The numbers at a site, `[T, N]`.
    pub fn at(&self, site: Site) -> &Array2<f32> {
        match site {
            Site::Before => &self.before,
            Site::Heads => &self.heads,
            Site::Attention => &self.attention,
            Site::Between => &self.between,
            Site::Hidden => &self.hidden,
            Site::Mlp => &self.mlp,
            Site::Behind => &self.behind,
        }
    }

    fn at_mut(&mut self, site: Site) -> &mut Array2<f32> {
        match site {
            Site::Before => &mut self.before,
            Site::Heads => &mut self.heads,
            Site::Attention => &mut self.attention,
            Site::Between => &mut self.between,
            Site::Hidden => &mut self.hidden,
            Site::Mlp => &mut self.mlp,
            Site::Behind => &mut self.behind,
        }
    }
}

/// Everything for one text of T tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct Inside {
    /// L blocks.
    pub blocks: Vec<BlockInside>,
    /// `[T, V]`.
    pub logits: Array2<f32>,
}

/// Everything that the model computes while it reads `tokens`.
///
/// # Errors
/// As [`TinyGPT::logits`]; [`Error::Memory`] when there is no room; [`Error::Config`] naming an
/// attention that does not show its weights.
pub fn inside(model: &TinyGPT, tokens: &[TokenId]) -> Result<Inside> {
    let found = seen(model, tokens, Some(model.attention().spec().n_heads), None)?;
    let n_heads = model.attention().spec().n_heads;
    let all = n_heads * tokens.len() * tokens.len();
    if found.blocks.iter().any(|block| block.weights.len() != all) {
        return Err(does_not_show(model));
    }
    Ok(found)
}

/// [`inside`] without the weights P, which take longer than all else.
///
/// # Errors
/// As [`TinyGPT::logits`]; [`Error::Memory`] when there is no room; [`Error::Config`] naming an attention
/// that does not show its heads.
pub fn values(model: &TinyGPT, tokens: &[TokenId]) -> Result<Inside> {
    values_with(model, tokens, None)
}

/// [`values`] under patches.
pub(crate) fn values_with(
    model: &TinyGPT,
    tokens: &[TokenId],
    patches: Option<&Patches<'_>>,
) -> Result<Inside> {
    let found = seen(model, tokens, None, patches.map(|patches| patches as &dyn Probe))?;
    let is_shown = found.blocks.iter().all(|block| block.heads.nrows() == tokens.len());
    if is_shown { Ok(found) } else { Err(does_not_show(model)) }
}

/// Everything for a text, with the weights of `weights` heads, if they are wanted.
fn seen(
    model: &TinyGPT,
    tokens: &[TokenId],
    weights: Option<usize>,
    patches: Option<&dyn Probe>,
) -> Result<Inside> {
    let (config, t, spec) = (model.config(), tokens.len(), model.attention().spec());
    let of_heads = spec.heads_width(config.d_model) + weights.map_or(0, |heads| heads * t);
    let wide = 5 * config.d_model + config.inner() + of_heads;
    let kept = (config.n_layers as u64 * t as u64).saturating_mul(wide as u64);
    memory::require(model.inference_memory(1, t).saturating_add(kept.saturating_mul(4)))?;
    let blocks = RefCell::new(vec![BlockInside::default(); config.n_layers]);
    let seen = Seen { weights, patches, blocks };
    let logits = no_grad(|| model.forward(tokens, [1, t], Some(&seen)))?;
    let blocks = seen.blocks.into_inner();
    let shape = [t, config.vocab_size];
    let logits = Array2::from_shape_vec(shape, logits.data().to_vec());
    let logits = logits.map_err(|_| Error::shape("inside", format!("{shape:?}"), &[t]))?;
    Ok(Inside { blocks, logits })
}

struct Seen<'a> {
    /// Heads whose weights are wanted, if they are.
    weights: Option<usize>,
    patches: Option<&'a dyn Probe>,
    blocks: RefCell<Vec<BlockInside>>,
}

impl Seen<'_> {
    fn at(&self, layer: usize, keep: impl FnOnce(&mut BlockInside)) {
        if let Some(block) = self.blocks.borrow_mut().get_mut(layer) {
            keep(block);
        }
    }
}

/// The rows of the one text.
fn first(x: ArrayView3<'_, f32>) -> Array2<f32> {
    x.index_axis(Axis(0), 0).to_owned()
}

impl Probe for Seen<'_> {
    fn wants_heads(&self) -> bool {
        self.weights.is_some()
    }

    fn head(&self, layer: usize, _: usize, head: usize, probs: ArrayView2<'_, f32>) {
        self.at(layer, |block| {
            if let Some(n_heads) = self.weights.filter(|_| head == 0) {
                block.weights = Array3::zeros([n_heads, probs.nrows(), probs.ncols()]);
            }
            if head < block.weights.len_of(Axis(0)) {
                block.weights.index_axis_mut(Axis(0), head).assign(&probs);
            }
        });
    }

    fn value(&self, layer: usize, site: Site, x: ArrayView3<'_, f32>) -> Option<Array3<f32>> {
        let other = self.patches.and_then(|patches| patches.value(layer, site, x.view()));
        let used = other.as_ref().map_or(x, |other| other.view());
        self.at(layer, |block| *block.at_mut(site) = first(used));
        other
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{attention_maps, hidden_units};
    use llm_core::{Config, Tensor, ops};

    #[test]
    fn what_is_seen_is_what_was_computed() {
        let model = TinyGPT::new(Config::new(9, 8, 8, 2), 3).unwrap();
        let tokens = [3, 1, 4, 1, 5];
        let found = inside(&model, &tokens).unwrap();
        let logits = model.logits(&tokens, [1, 5]).unwrap();
        assert_eq!(found.logits.as_slice().unwrap(), logits.data());
        let (maps, units) =
            (attention_maps(&model, &tokens, 5).unwrap(), hidden_units(&model, &tokens).unwrap());
        for (layer, block) in found.blocks.iter().enumerate() {
            assert_eq!(block.weights.as_slice().unwrap(), maps.layers[layer][0].concat());
            assert_eq!(block.hidden, units.layers[layer]);
            assert_eq!(block.heads.dim(), (5, 8));
            // Each place is the one before and what was added there.
            let (w, b) = (&model.blocks[layer].w_out, model.blocks[layer].b_out.as_ref());
            let of = |x: &Array2<f32>| Tensor::new(x.clone().into_dyn());
            let mlp = ops::linear_lastdim(&of(&block.hidden), w, b).unwrap();
            let sum = ops::add(&of(&block.between), &mlp).unwrap();
            assert_eq!(sum.data(), block.behind.as_slice().unwrap());
            assert_ne!(block.before, block.between);
        }
        assert_eq!(found.blocks[0].behind, found.blocks[1].before);
        assert!(inside(&model, &[9]).is_err() && inside(&model, &[]).is_err());
    }
}
