//! The weights P of every layer and head, as data.

use super::{Probe, TinyGPT};
use crate::autograd::no_grad;
use crate::base::{Error, Result, TokenId};
use crate::message;
use ndarray::{Array5, ArrayView2};
use std::cell::RefCell;
use std::collections::BTreeMap;

impl TinyGPT {
    /// `P[l, b, h, i, j]`: how much position i of sequence b takes from position j, in head h of
    /// block l. A head that is switched off is shown as if it were on.
    ///
    /// ```
    /// use llm_core::{Config, TinyGPT, ndarray::s};
    /// let model = TinyGPT::new(Config::new(256, 64, 32, 2), 1)?;
    /// let tokens = b"once".map(u32::from);
    /// let p = model.attention_weights(&tokens, [1, 4])?;
    /// assert_eq!(p.shape(), [2, 1, 1, 4, 4]); // two blocks, one text, one head
    /// let last = p.slice(s![1, 0, 0, 3, ..]); // what the last position reads, in the second block
    /// assert!((last.sum() - 1.0).abs() < 1e-6);
    /// assert_eq!(p[[1, 0, 0, 0, 1]], 0.0); // the future is hidden
    /// # Ok::<(), llm_core::Error>(())
    /// ```
    ///
    /// For one head at a time, or what the heads make of it, give a [`Probe`] to
    /// [`TinyGPT::forward`]: all of P are L·B·H·T² numbers.
    ///
    /// # Shapes
    /// `tokens` flat, of `[B, T]`, T ≤ seq_len; result `[L, B, H, T, T]`.
    ///
    /// # Errors
    /// As [`TinyGPT::logits`]; [`Error::Config`] when the attention does not show its weights, or
    /// not as many in every block.
    pub fn attention_weights(&self, tokens: &[TokenId], [b, t]: [usize; 2]) -> Result<Array5<f32>> {
        let seen = Seen::default();
        no_grad(|| self.forward(tokens, [b, t], Some(&seen)))?;
        let seen = seen.0.into_inner();

        let layers = self.config().n_layers;
        let heads = seen.len() / (layers * b);
        let places = (0..layers).flat_map(|l| (0..b).map(move |b| (l, b)));
        let mut places = places.flat_map(|(l, b)| (0..heads).map(move |h| (l, b, h)));
        let complete = heads > 0
            && seen.keys().all(|&place| places.next() == Some(place))
            && places.next().is_none()
            && seen.values().all(|p| p.len() == t * t);
        let name = self.attention().spec().name;
        let reason = message!("'{}' does not show all of its weights", name.escape_default());
        Error::unless(complete, "attention", reason)?;
        let mut all = Vec::with_capacity(seen.len() * t * t);
        seen.into_values().for_each(|p| all.extend(p));
        Ok(Array5::from_shape_vec([layers, b, heads, t, t], all).expect("counted above"))
    }
}

/// What was shown, by layer, sequence and head.
#[derive(Default)]
struct Seen(RefCell<BTreeMap<(usize, usize, usize), Vec<f32>>>);

impl Probe for Seen {
    fn head(&self, layer: usize, sequence: usize, head: usize, probs: ArrayView2<'_, f32>) {
        self.0.borrow_mut().insert((layer, sequence, head), probs.iter().copied().collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Config;

    /// Two tokens whose norms are (1, −1) and (−1, 1); q and k are the norm, in the second block
    /// q is its negative; nothing is added to the stream.
    fn by_hand() -> TinyGPT {
        let mut model = TinyGPT::new(Config::new(2, 4, 2, 2), 1).unwrap();
        for (_, p) in model.parameters_mut() {
            p.data_mut().fill(0.0);
        }
        model.wte.data_mut().copy_from_slice(&[1.0, 0.0, 0.0, 1.0]);
        for (block, sign) in model.blocks.iter_mut().zip([1.0, -1.0]) {
            let rows = [[sign, 0.0, 1.0, 0.0, 0.0, 0.0], [0.0, sign, 0.0, 1.0, 0.0, 0.0]];
            block
                .attention
                .get_mut("w_qkv")
                .unwrap()
                .data_mut()
                .copy_from_slice(rows.as_flattened());
        }
        model
    }

    #[test]
    fn weights_are_those_worked_out_by_hand() {
        // Own score: q·k/√2 = √2, the other's: −√2.
        let own = 1.0 / (1.0 + (-2.0 * 2f32.sqrt()).exp());
        let p = by_hand().attention_weights(&[0, 1, 0, 1, 1, 1], [2, 3]).unwrap();
        assert_eq!(p.shape(), [2, 2, 1, 3, 3]);
        let near = |layer: usize, row: usize, want: [f32; 3]| {
            for (j, want) in want.into_iter().enumerate() {
                let got = p[[layer, 0, 0, row, j]];
                assert!((got - want).abs() < 1e-4, "{layer} {row} {j}: {got}, not {want}");
            }
        };
        near(0, 0, [1.0, 0.0, 0.0]);
        near(0, 1, [1.0 - own, own, 0.0]);
        near(1, 1, [own, 1.0 - own, 0.0]);
        let twice = 2.0 * own + (1.0 - own); // two like it, one unlike
        near(0, 2, [own / twice, (1.0 - own) / twice, own / twice]);
        // The second sequence, of one token three times: equal weights.
        let equal = |(i, j): (usize, usize)| (p[[0, 1, 0, i, j]] - 1.0 / (i + 1) as f32).abs();
        assert!([(1, 0), (1, 1), (2, 0), (2, 2)].into_iter().all(|at| equal(at) < 1e-6));
    }

    #[test]
    fn wrong_tokens_are_refused() {
        let model = by_hand();
        assert!(model.attention_weights(&[0, 1], [1, 3]).is_err());
        assert!(model.attention_weights(&[], [0, 3]).is_err());
        assert!(model.attention_weights(&[0; 5], [1, 5]).is_err());
        assert!(model.attention_weights(&[2], [1, 1]).is_err());
    }
}
