//! P of every head for a short text.

use crate::console::safe_text;
use crate::report::AttentionMaps;
use llm_core::model::Probe;
use llm_core::ndarray::{ArrayView2, ArrayView3};
use llm_core::tokenizer::{IdsTokenizer, Tokenizer};
use llm_core::{TinyGPT, TokenId, no_grad};
use std::cell::RefCell;

/// A page shows no longer text than this, ..
const MOST_TOKENS: usize = 128;
/// .. no more weights of all heads together, ..
const MOST_WEIGHTS: usize = 150_000;
/// .. and the forward pass for it takes no more operations: a tenth of a second on a slow machine.
const MOST_OPERATIONS: u64 = 4_000_000_000;
/// Fewer say nothing, unless the model's context is no longer.
const FEWEST_TOKENS: usize = 8;

/// As many tokens as can be shown; 0: none, the model is too large.
pub(super) fn most_tokens(model: &TinyGPT) -> usize {
    let config = model.config();
    let heads = config.n_layers * model.attention().spec().n_heads;
    let weights = (2 * MOST_WEIGHTS / heads.max(1)).isqrt();
    let operations = MOST_OPERATIONS / (2 * config.parameter_count()).max(1);
    let most = MOST_TOKENS.min(weights).min(usize::try_from(operations).unwrap_or(MOST_TOKENS));
    if most < FEWEST_TOKENS { 0 } else { most.min(config.seq_len) }
}

/// What the heads look at in `text`; nothing when there is no text, or no memory for it.
pub(super) fn maps(
    model: &TinyGPT,
    text: &[TokenId],
    tokenizer: &dyn Tokenizer,
) -> Option<AttentionMaps> {
    let seen = Seen(RefCell::new(vec![Vec::new(); model.config().n_layers]));
    if text.is_empty() {
        return None;
    }
    no_grad(|| model.forward(text, [1, text.len()], Some(&seen))).ok()?;
    let tokens = text.iter().map(|&id| match tokenizer.bytes_of(id) {
        [] => format!("#{id}"),
        _ if tokenizer.name() == IdsTokenizer::NAME => format!("{id} "),
        bytes => safe_text(bytes),
    });
    Some(AttentionMaps { tokens: tokens.collect(), layers: seen.0.into_inner() })
}

/// `[L][H][T]`, filled while the model computes.
struct Seen(RefCell<Vec<Vec<Vec<Vec<f32>>>>>);

impl Probe for Seen {
    fn head(&self, layer: usize, _: usize, _: usize, probs: ArrayView2<'_, f32>) {
        let rows = probs.rows().into_iter().enumerate();
        let rows = rows.map(|(i, row)| row.iter().take(i + 1).copied().collect()).collect();
        if let Some(heads) = self.0.borrow_mut().get_mut(layer) {
            heads.push(rows);
        }
    }

    fn concatenated(&self, _: usize, _: ArrayView3<'_, f32>) {}
}
