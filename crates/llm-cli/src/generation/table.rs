//! Next tokens as a table, and a token as one sees it.

use super::Request;
use crate::error::Result;
use crate::escape::safe_text;
use llm_core::TokenId;
use llm_core::generate::Sampling;
use llm_core::tokenizer::Tokenizer;

impl Request {
    /// The most likely next tokens, after temperature and before any filter or draw.
    pub(super) fn next_table(&self, logits: &[f32]) -> Result<String> {
        let all = Sampling {
            temperature: self.sampling.temperature.max(f32::MIN_POSITIVE),
            allowed: self.sampling.allowed.clone(),
            ..Sampling::default()
        };
        let mut text =
            format!("Top-{} next tokens (after temperature, before sampling):\n", self.table);
        for (rank, (id, p)) in all.distribution(logits, &[])?.iter().take(self.table).enumerate() {
            text.push_str(&row(rank, *id, *p, self.tokenizer.as_ref()));
        }
        Ok(text)
    }
}

/// A line of a table.
pub(crate) fn row(rank: usize, id: TokenId, p: f64, tokenizer: &dyn Tokenizer) -> String {
    format!("  {:>4}. id={id:<3} p={p:.6} {}\n", rank + 1, shown(tokenizer, id))
}

/// A token as one sees it: `'a'`, `'猫'`, `'\n'`, `'\xNN'`.
pub fn shown(tokenizer: &dyn Tokenizer, id: TokenId) -> String {
    match tokenizer.bytes_of(id) {
        [] => format!("#{id}"),
        bytes => {
            let text = safe_text(bytes).replace('\n', "\\n").replace('\t', "\\t");
            format!("'{text}'")
        }
    }
}
