//! `eval --npz`: what the model said, as arrays for NumPy.

use crate::commands::written::{check_place, save};
use crate::error::{Result, RunError};
use llm_core::TokenId;
use llm_core::base::memory;
use llm_core::data::Window;
use llm_core::train::Scored;
use llm_formats::npz::{self, Npz};
use std::path::Path;

/// Everything that is written, for N scored tokens.
#[derive(Debug)]
pub(super) struct Arrays {
    vocab: usize,
    /// What came, N.
    tokens: Vec<TokenId>,
    /// What stood before it, N.
    inputs: Vec<TokenId>,
    /// Of the tokens in the text, N.
    positions: Vec<u64>,
    /// Where each token's window begins, N.
    windows: Vec<u64>,
    /// N.
    losses: Vec<f32>,
    /// N·V.
    logits: Vec<f32>,
}

impl Arrays {
    /// Room for N tokens; `path` may be written.
    ///
    /// # Errors
    /// [`RunError::Memory`]; as [`check_place`].
    pub(super) fn for_tokens(n: usize, vocab: usize, path: &Path) -> Result<Arrays> {
        check_place(path, |start| npz::begins_with(start, "tokens"))?;
        let each = 4 * (vocab as u64 + 3) + 2 * 8;
        let lower = "the length of --data, as --npz keeps every logit";
        memory::require(each.saturating_mul(n as u64))
            .map_err(|e| RunError::Memory(e, lower.into()))?;
        Ok(Arrays {
            vocab,
            tokens: Vec::with_capacity(n),
            inputs: Vec::with_capacity(n),
            positions: Vec::with_capacity(n),
            windows: Vec::with_capacity(n),
            losses: Vec::with_capacity(n),
            logits: Vec::with_capacity(n * vocab),
        })
    }

    pub(super) fn add(&mut self, window: Window, scored: &Scored<'_>) {
        self.tokens.extend(scored.targets);
        self.inputs.extend(scored.inputs);
        let (start, len) = (window.start as u64, scored.targets.len() as u64);
        self.positions.extend(start + 1..=start + len);
        self.windows.extend((0..len).map(|_| start));
        self.losses.extend(scored.losses);
        self.logits.extend(scored.logits);
    }

    /// # Errors
    /// What the system says.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let Arrays { vocab, tokens, inputs, positions, windows, losses, logits } = self;
        let n = tokens.len();
        save(path, |out| {
            let mut file = Npz::to(out);
            file.add("tokens", &[n], tokens)?; // first: begins_with looks for it
            file.add("inputs", &[n], inputs)?;
            file.add("positions", &[n], positions)?;
            file.add("windows", &[n], windows)?;
            file.add("losses", &[n], losses)?;
            file.add("logits", &[n, *vocab], logits)?;
            file.finish()
        })
    }
}
