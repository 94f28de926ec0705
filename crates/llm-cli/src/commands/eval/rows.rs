//! `eval --per-token`: what the model said about every scored token, a row each.

use crate::console::json_line;
use crate::error::{Result, RunError};
use llm_core::base::escape::escaped_token;
use llm_core::base::memory;
use llm_core::data::{Batch, Window};
use llm_core::tokenizer::Tokenizer;
use llm_core::train::Scored;
use llm_core::{TokenId, message};
use llm_lens::{first_choice, logits_of};
use serde::Serialize;
use std::io::{self, Write};

/// What a file of rows begins with, as CSV and as JSON.
pub(super) const BEGINS: [&[u8]; 2] = [b"position,window,token,text,", b"{\"position\":"];

/// A scored token.
#[derive(Clone, Copy, Debug)]
struct TokenRow {
    position: usize,
    window: usize,
    token: TokenId,
    loss: f32,
    rank: u32,
    first: TokenId,
}

/// A row as it is written.
#[derive(Serialize)]
struct WrittenRow {
    /// Place of the token in the text, from 0.
    position: usize,
    /// Position of the first token that the model saw before it.
    window: usize,
    token: TokenId,
    text: String,
    /// −ln p, in nats.
    loss: f32,
    prob: f32,
    /// 1: the model's first choice.
    rank: u32,
    first: TokenId,
    first_text: String,
}

/// The rows of all scored tokens.
#[derive(Debug)]
pub(super) struct TokenRows(Vec<TokenRow>);

impl TokenRows {
    /// Room for `tokens` rows.
    ///
    /// # Errors
    /// [`RunError::Memory`].
    pub(super) fn for_tokens(tokens: usize) -> Result<TokenRows> {
        let needed = (tokens as u64).saturating_mul(size_of::<TokenRow>() as u64);
        memory::require(needed)
            .map_err(|e| RunError::Memory(e, message!("the length of --data")))?;
        Ok(TokenRows(Vec::with_capacity(tokens)))
    }

    pub(super) fn add(&mut self, window: Window, scored: &Scored<'_>) {
        let tokens = scored.targets.iter().zip(scored.losses).zip(logits_of(scored));
        let counts = |(_, ((token, _), _)): &(usize, ((&TokenId, _), _))| **token != Batch::IGNORED;
        let tokens = tokens.enumerate().filter(counts);
        self.0.extend(tokens.map(|(i, ((&token, &loss), logits))| TokenRow {
            position: window.start + i + 1,
            window: window.start,
            token,
            loss,
            rank: rank(logits, token),
            first: first_choice(logits),
        }));
    }

    /// CSV with a header, or an object a line.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, out: &mut dyn Write, of: &dyn Tokenizer, json: bool) -> io::Result<()> {
        let mut lines = self.0.iter().map(|row| row.line(of));
        if json {
            return lines.try_for_each(|line| out.write_all(json_line(&line).as_bytes()));
        }
        let mut out = csv::Writer::from_writer(out);
        lines.try_for_each(|line| out.serialize(line))?;
        out.flush()
    }
}

impl TokenRow {
    fn line(&self, tokenizer: &dyn Tokenizer) -> WrittenRow {
        let text = |token| escaped_token(tokenizer.bytes_of(token));
        let TokenRow { position, window, token, loss, rank, first } = *self;
        WrittenRow {
            position,
            window,
            token,
            text: text(token),
            loss,
            prob: (-f64::from(loss)).exp() as f32,
            rank,
            first,
            first_text: text(first),
        }
    }
}

/// 1 and the number of tokens that the model holds likelier; of equals, the first ones.
fn rank(logits: &[f32], token: TokenId) -> u32 {
    let Some((before, [mine, after @ ..])) = logits.split_at_checked(token as usize) else {
        return 0;
    };
    let likelier = before.iter().filter(|x| *x >= mine).count();
    (1 + likelier + after.iter().filter(|x| *x > mine).count()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_choice_has_rank_one_and_equals_stand_in_order() {
        let logits = [0.5, 2.0, -1.0, 2.0, 0.5];
        assert_eq!(first_choice(&logits), 1);
        assert_eq!([0, 1, 2, 3, 4].map(|token| rank(&logits, token)), [3, 1, 5, 2, 4]);
        assert_eq!(rank(&logits, 5), 0);
    }
}
