//! The built-in stories in tokens of any kind. What is known about them is known by bytes.

use crate::error::Result;
use llm_core::data::{StoryCorpus, TokenDataset, Windows};
use llm_core::tokenizer::{ByteTokenizer, Tokenizer};
use std::ops::Range;

/// How many of `count` stories are learnt.
pub fn learnt(count: u64, val_frac: f64) -> u64 {
    count - (count as f64 * val_frac) as u64
}

/// The stories in tokens. Each is cut by itself: none has a part of the next.
pub(super) fn as_tokens(corpus: &StoryCorpus, tokenizer: &dyn Tokenizer) -> Result<TokenDataset> {
    if tokenizer.name() == ByteTokenizer::NAME {
        return Ok(corpus.data.clone());
    }
    let mut starts = Vec::with_capacity(corpus.stories.len());
    let mut tokens = Vec::new();
    for story in &corpus.stories {
        starts.push(tokens.len());
        tokens.extend(tokenizer.encode(story.text.as_bytes())?);
    }
    Ok(TokenDataset::from_tokens(tokens).with_starts(starts))
}

/// The bytes of each story that its window scores: all that its tokens but the first stand for.
pub(super) fn scored_bytes(
    data: &TokenDataset,
    windows: &Windows,
    tokenizer: &dyn Tokenizer,
) -> Result<Vec<Range<usize>>> {
    let scored = windows.iter().map(|window| {
        let tokens = data.tokens(window.start, window.len + 1)?;
        let mut ends = tokens.iter().scan(0, |end, &token| {
            *end += tokenizer.bytes_of(token).len();
            Some(*end)
        });
        let first = ends.next().unwrap_or(0);
        Ok(first..ends.last().unwrap_or(first))
    });
    scored.collect()
}
