//! Next tokens as a table, and a token as one sees it.

use super::Request;
use crate::error::Result;
use crate::events::NextToken;
use crate::messages::said;
use llm_core::base::escape::safe_token;
use llm_core::generate::Generator;
use llm_core::tokenizer::Tokenizer;
use llm_core::{TokenId, message};

impl Request {
    /// The most likely next tokens, to be read.
    pub(super) fn table(&self, generator: &mut Generator<'_>) -> Result<String> {
        let likeliest = self.sampling.likeliest(generator.logits()?, self.table)?;
        let n = self.table;
        let head = said(message!("Top-{} next tokens (after temperature, before sampling):\n", n));
        let rows = likeliest.iter().enumerate();
        let rows = rows.map(|(rank, (id, p))| row(rank, *id, *p, self.tokenizer.as_ref()));
        Ok([head].into_iter().chain(rows).collect())
    }

    /// The most likely next tokens, for a program.
    pub(super) fn next_tokens(&self, generator: &mut Generator<'_>) -> Result<Vec<NextToken>> {
        let likeliest = self.sampling.likeliest(generator.logits()?, self.table)?;
        let text = |id| String::from_utf8_lossy(self.tokenizer.bytes_of(id)).into_owned();
        Ok(likeliest.into_iter().map(|(id, p)| NextToken { id, text: text(id), p }).collect())
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
            let text = safe_token(bytes).replace('\n', "\\n").replace('\t', "\\t");
            format!("'{text}'")
        }
    }
}
