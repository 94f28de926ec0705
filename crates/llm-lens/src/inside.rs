//! Everything that a model computes for one text.

use crate::maps::does_not_show;
use llm_core::base::memory;
use llm_core::model::Probe;
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
    /// `[T, I]`: the MLP between its two products, behind the activation.
    pub hidden: Array2<f32>,
    /// `[T, C]`: the residual stream before the block.
    pub before: Array2<f32>,
    /// `[T, C]`: between attention and MLP.
    pub between: Array2<f32>,
    /// `[T, C]`: behind the block.
    pub behind: Array2<f32>,
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
    let (config, t, spec) = (model.config(), tokens.len(), model.attention().spec());
    let n_heads = spec.n_heads;
    let wide = 3 * config.d_model + config.inner() + n_heads * (spec.head_dim(config.d_model) + t);
    let kept = (config.n_layers as u64 * t as u64).saturating_mul(wide as u64);
    memory::require(model.inference_memory(1, t).saturating_add(kept.saturating_mul(4)))?;
    let seen =
        Seen { n_heads, blocks: RefCell::new(vec![BlockInside::default(); config.n_layers]) };
    let logits = no_grad(|| model.forward(tokens, [1, t], Some(&seen)))?;
    let blocks = seen.blocks.into_inner();
    if blocks.iter().any(|block| block.weights.len() != n_heads * t * t) {
        return Err(does_not_show(model));
    }
    let shape = [t, config.vocab_size];
    let logits = Array2::from_shape_vec(shape, logits.data().to_vec());
    let logits = logits.map_err(|_| Error::shape("inside", format!("{shape:?}"), &[t]))?;
    Ok(Inside { blocks, logits })
}

struct Seen {
    n_heads: usize,
    blocks: RefCell<Vec<BlockInside>>,
}

impl Seen {
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

impl Probe for Seen {
    fn head(&self, layer: usize, _: usize, head: usize, probs: ArrayView2<'_, f32>) {
        self.at(layer, |block| {
            if head == 0 {
                block.weights = Array3::zeros([self.n_heads, probs.nrows(), probs.ncols()]);
            }
            if head < block.weights.len_of(Axis(0)) {
                block.weights.index_axis_mut(Axis(0), head).assign(&probs);
            }
        });
    }

    fn concatenated(&self, layer: usize, y: ArrayView3<'_, f32>) {
        self.at(layer, |block| block.heads = first(y));
    }

    fn hidden(&self, layer: usize, hidden: ArrayView3<'_, f32>) {
        self.at(layer, |block| block.hidden = first(hidden));
    }

    fn stream(&self, layer: usize, [before, between, behind]: [ArrayView3<'_, f32>; 3]) {
        self.at(layer, |block| {
            [block.before, block.between, block.behind] = [before, between, behind].map(first);
        });
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
