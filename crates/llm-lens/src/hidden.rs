//! What the MLPs ask of each token of one text.

use llm_core::base::memory;
use llm_core::model::{Probe, Site};
use llm_core::ndarray::{Array2, Array3, ArrayView3, Axis};
use llm_core::{Result, TinyGPT, TokenId, no_grad};
use std::cell::RefCell;

/// The hidden numbers of every MLP for one text.
#[derive(Clone, Debug)]
pub struct HiddenUnits {
    /// `[T, I]` for each layer: what is between the two products, behind the activation. A column is
    /// a unit: a question that is put to every token.
    pub layers: Vec<Array2<f32>>,
}

/// The hidden numbers of every MLP while the model reads `tokens`.
///
/// # Errors
/// As [`TinyGPT::logits`]; [`Error::Memory`](llm_core::Error::Memory) when there is no room.
pub fn hidden_units(model: &TinyGPT, tokens: &[TokenId]) -> Result<HiddenUnits> {
    let (config, t) = (model.config(), tokens.len());
    let numbers = (config.n_layers * config.inner()) as u64 * t as u64;
    let forward = model.inference_memory(1, t);
    memory::require(forward.saturating_add(numbers.saturating_mul(4)))?;
    let kept = Kept::default();
    no_grad(|| model.forward(tokens, [1, t], Some(&kept)))?;
    Ok(HiddenUnits { layers: kept.0.into_inner() })
}

impl HiddenUnits {
    /// The `n` units that fire most at a token, with their numbers, the largest first; of equal ones
    /// the first. Empty where there is no such layer or token.
    pub fn strongest(&self, layer: usize, token: usize, n: usize) -> Vec<(usize, f32)> {
        let Some(hidden) = self.layers.get(layer).filter(|hidden| token < hidden.nrows()) else {
            return Vec::new();
        };
        let mut all: Vec<_> = hidden.row(token).iter().copied().enumerate().collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all.truncate(n);
        all
    }

    /// A unit's number at every token. Empty where there is no such layer or unit.
    pub fn of_unit(&self, layer: usize, unit: usize) -> Vec<f32> {
        let hidden = self.layers.get(layer).filter(|hidden| unit < hidden.ncols());
        hidden.map_or_else(Vec::new, |hidden| hidden.column(unit).to_vec())
    }
}

/// Layers come one after the other.
#[derive(Default)]
struct Kept(RefCell<Vec<Array2<f32>>>);

impl Probe for Kept {
    fn wants_heads(&self) -> bool {
        false
    }

    fn value(&self, _: usize, site: Site, x: ArrayView3<'_, f32>) -> Option<Array3<f32>> {
        if site == Site::Hidden {
            self.0.borrow_mut().push(x.index_axis(Axis(0), 0).to_owned());
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::model::{Attention, Context, SingleHead};
    use llm_core::{Config, Tensor, ops};

    /// Hidden states by hand: the blocks op by op, no probe.
    fn naive(model: &TinyGPT, tokens: &[TokenId]) -> Vec<Tensor> {
        let shape = [1, tokens.len()];
        let positions: Vec<TokenId> = (0..tokens.len() as TokenId).collect();
        let at = ops::embedding(model.wpe.as_ref().unwrap(), &positions, &shape).unwrap();
        let mut h = ops::add(&ops::embedding(&model.wte, tokens, &shape).unwrap(), &at).unwrap();
        let eps = model.config().norm_eps;
        let mut found = Vec::new();
        for (layer, block) in model.blocks.iter().enumerate() {
            let x = ops::layernorm_lastdim(&h, eps).unwrap();
            let y = SingleHead.forward(&x, &block.attention, &Context::new(layer)).unwrap();
            h = ops::add(&h, &y).unwrap();
            let x = ops::layernorm_lastdim(&h, eps).unwrap();
            let hidden = ops::linear_lastdim(&x, &block.w_fc, block.b_fc.as_ref()).unwrap();
            let hidden = ops::gelu(&hidden).unwrap();
            let y = ops::linear_lastdim(&hidden, &block.w_out, block.b_out.as_ref()).unwrap();
            h = ops::add(&h, &y).unwrap();
            found.push(hidden);
        }
        found
    }

    #[test]
    fn units_are_those_of_the_blocks_by_hand() {
        let model = TinyGPT::new(Config::new(9, 8, 8, 2), 3).unwrap();
        let tokens = [3, 1, 4, 1, 5];
        let units = hidden_units(&model, &tokens).unwrap();
        let naive = naive(&model, &tokens);
        assert_eq!((units.layers.len(), naive[0].shape()), (2, [1, 5, 32].as_slice()));
        for (hidden, naive) in units.layers.iter().zip(&naive) {
            assert_eq!(hidden.iter().copied().collect::<Vec<_>>(), naive.data());
        }
        assert_ne!(naive[0].data(), naive[1].data());

        let row = &naive[1].data()[3 * 32..4 * 32];
        let strongest = units.strongest(1, 3, 4);
        let least = strongest.last().unwrap().1;
        assert!(strongest.is_sorted_by(|a, b| a.1 >= b.1));
        assert!(strongest.iter().all(|&(unit, x)| row[unit] == x));
        assert_eq!(row.iter().filter(|&&x| x >= least).count(), 4);
        let unit: Vec<f32> = (0..5).map(|i| naive[1].data()[i * 32 + 7]).collect();
        assert_eq!(units.of_unit(1, 7), unit);
        assert!(units.strongest(2, 0, 4).is_empty() && units.strongest(0, 5, 4).is_empty());
        assert!(units.of_unit(0, 32).is_empty() && units.of_unit(2, 0).is_empty());
        assert!(hidden_units(&model, &[9]).is_err() && hidden_units(&model, &[]).is_err());
    }
}
