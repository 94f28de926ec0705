//! The attention weights of one text.

use llm_core::base::memory;
use llm_core::model::Probe;
use llm_core::ndarray::ArrayView2;
use llm_core::{Error, Result, TinyGPT, TokenId, message, no_grad};
use std::cell::RefCell;

/// P of every layer and head for one text.
#[derive(Clone, Debug)]
pub struct AttentionMaps {
    /// The T tokens that are shown.
    pub tokens: Vec<TokenId>,
    /// `[L][H][T][T]`: row i holds the weights of query i; those after i are 0.
    pub layers: Vec<Vec<Vec<Vec<f32>>>>,
}

/// P of every layer and head while the model reads `tokens`, for the last `last` of them: rows are
/// queries, columns keys, those after the query 0. When `last` is less than all, rows need not add
/// up to 1.
///
/// # Errors
/// As [`TinyGPT::logits`]; [`Error::Memory`] when there is no room; [`Error::Config`] naming an
/// attention that does not show its weights.
pub fn attention_maps(model: &TinyGPT, tokens: &[TokenId], last: usize) -> Result<AttentionMaps> {
    let (config, t) = (model.config(), tokens.len());
    let from = t.saturating_sub(last);
    let n_heads = model.attention().spec().n_heads;
    let weights = config.n_layers as u64 * n_heads as u64 * ((t - from) as u64).pow(2);
    // Scores and weights of one head at a time, whole.
    let numbers = weights.saturating_add(2 * (t as u64).pow(2));
    let forward = model.inference_memory(1, t);
    memory::require(forward.saturating_add(numbers.saturating_mul(4)))?;
    let layers = vec![vec![Vec::new(); n_heads]; config.n_layers];
    let kept = Kept { from, layers: RefCell::new(layers) };
    no_grad(|| model.forward(tokens, [1, t], Some(&kept)))?;
    let layers = kept.layers.into_inner();
    if layers.iter().flatten().any(|head| head.len() != t - from) {
        return Err(does_not_show(model));
    }
    Ok(AttentionMaps { tokens: tokens[from..].to_vec(), layers })
}

/// The refusal of an attention that leaves the probe empty.
pub(crate) fn does_not_show(model: &TinyGPT) -> Error {
    let name = model.attention().spec().name;
    Error::config("attention", message!("'{}' does not show its weights", name.escape_default()))
}

/// Keeps the part of each P that is shown.
struct Kept {
    from: usize,
    layers: RefCell<Vec<Vec<Vec<Vec<f32>>>>>,
}

impl Probe for Kept {
    fn head(&self, layer: usize, _: usize, head: usize, probs: ArrayView2<'_, f32>) {
        let shown = probs.rows().into_iter().skip(self.from);
        let rows = shown.map(|row| row.iter().skip(self.from).copied().collect()).collect();
        let mut layers = self.layers.borrow_mut();
        if let Some(place) = layers.get_mut(layer).and_then(|heads| heads.get_mut(head)) {
            *place = rows;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::Config;

    /// Every number that a probe is shown.
    #[derive(Default)]
    struct All(RefCell<Vec<(usize, Vec<f32>)>>);

    impl Probe for All {
        fn head(&self, layer: usize, _: usize, _: usize, probs: ArrayView2<'_, f32>) {
            self.0.borrow_mut().push((layer, probs.iter().copied().collect()));
        }
    }

    #[test]
    fn maps_are_what_the_probe_sees() {
        let model = TinyGPT::new(Config::new(9, 8, 8, 2), 3).unwrap();
        let tokens = [3, 1, 4, 1, 5];
        let all = All::default();
        model.forward(&tokens, [1, 5], Some(&all)).unwrap();
        let maps = attention_maps(&model, &tokens, 64).unwrap();
        assert_eq!(maps.tokens, tokens);
        for (layer, probs) in all.0.into_inner() {
            assert_eq!(maps.layers[layer].len(), 1);
            assert_eq!(maps.layers[layer][0].concat(), probs);
        }
        let end = attention_maps(&model, &tokens, 2).unwrap();
        assert_eq!(end.tokens, [1, 5]);
        for layer in 0..2 {
            let want: Vec<_> = (3..5).map(|i| maps.layers[layer][0][i][3..].to_vec()).collect();
            assert_eq!(end.layers[layer][0], want);
        }
        assert!(attention_maps(&model, &[], 64).is_err());
        assert!(attention_maps(&model, &[9], 64).is_err());
    }
}
