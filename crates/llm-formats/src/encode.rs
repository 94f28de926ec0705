//! A text as tokens, part by part: of one that does not fit into memory, the tokens may.

use crate::bpe;
use crate::error::{FormatError, Result};
use crate::text::Text;
use llm_core::base::memory;
use llm_core::tokenizer::Tokenizer;
use llm_core::{Error, TokenDataset, TokenId};

/// Bytes of a part, at most.
pub const PART: usize = 32 << 20;
/// Shorter parts would save nothing.
const LEAST_PART: usize = 1 << 18;
/// What a byte of a part takes while it is cut: a token at most, twice, in a list that doubles.
const PART_MEMORY: u64 = 12;
/// What cutting takes in any case: the words that each thread remembers.
const AT_LEAST: u64 = 16 << 20;

/// The tokens of a BPE tokenizer, read in parts of `part_size` bytes, [`PART`] at most. Parts end
/// where a word ends in every case, so that the tokens are those of the whole text.
///
/// # Errors
/// [`FormatError::Core`] when there is no room for the tokens, or reading fails;
/// [`FormatError::LongRun`] when a part cannot end anywhere, and a longer one has no room.
pub fn in_parts(text: &Text, tokenizer: &dyn Tokenizer, part_size: usize) -> Result<TokenDataset> {
    // Less memory, smaller parts: the tokens are the same.
    let room = usize::try_from(memory::available() / PART_MEMORY / 2).unwrap_or(PART);
    let part_size = part_size.min(room.max(LEAST_PART)).clamp(1, PART);
    memory::require(AT_LEAST + part_size.min(text.len()) as u64 * PART_MEMORY)?;
    let mut tokens = Tokens::new(tokenizer.vocab_size());
    let (mut place, mut size) = (0, part_size);
    while place < text.len() {
        let part = text.read(place, size)?;
        let is_last = place + part.len() == text.len();
        let end = if is_last { Some(part.len()) } else { bpe::last_cut(&part) };
        let Some(end) = end else {
            size = size.saturating_mul(2); // a word that is longer than a part
            memory::require(2 * size as u64).map_err(FormatError::LongRun)?;
            continue;
        };
        let made = tokenizer.encode(&part[..end]).map_err(|e| match e {
            Error::Memory { .. } => FormatError::LongRun(e),
            other => other.into(),
        })?;
        if place == 0 {
            // As many for the rest as for the first part, and some more.
            let all = (text.len() as f64 / end as f64 * made.len() as f64 * 1.05) as usize;
            memory::require(all as u64 * tokens.width())?;
            tokens.reserve(all);
        }
        tokens.extend(&made)?;
        (place, size) = (place + end, part_size);
    }
    Ok(tokens.finish())
}

/// Tokens in as few bytes each as the vocabulary allows.
enum Tokens {
    Narrow(Vec<u16>),
    Wide(Vec<TokenId>),
}

impl Tokens {
    fn new(vocab_size: usize) -> Tokens {
        if vocab_size <= 1 << 16 { Tokens::Narrow(Vec::new()) } else { Tokens::Wide(Vec::new()) }
    }

    fn width(&self) -> u64 {
        match self {
            Tokens::Narrow(_) => 2,
            Tokens::Wide(_) => 4,
        }
    }

    fn reserve(&mut self, more: usize) {
        match self {
            Tokens::Narrow(tokens) => tokens.reserve_exact(more),
            Tokens::Wide(tokens) => tokens.reserve_exact(more),
        }
    }

    fn room(&self) -> usize {
        match self {
            Tokens::Narrow(tokens) => tokens.capacity() - tokens.len(),
            Tokens::Wide(tokens) => tokens.capacity() - tokens.len(),
        }
    }

    fn len(&self) -> usize {
        match self {
            Tokens::Narrow(tokens) => tokens.len(),
            Tokens::Wide(tokens) => tokens.len(),
        }
    }

    fn extend(&mut self, more: &[TokenId]) -> Result<()> {
        if self.room() < more.len() {
            // A list that grows is copied: for a while there are both.
            memory::require((self.len() + more.len()) as u64 * self.width())?;
            self.reserve(more.len());
        }
        match self {
            Tokens::Narrow(tokens) => tokens.extend(more.iter().map(|&token| token as u16)),
            Tokens::Wide(tokens) => tokens.extend_from_slice(more),
        }
        Ok(())
    }

    fn finish(self) -> TokenDataset {
        match self {
            Tokens::Narrow(tokens) => TokenDataset::from_narrow_tokens(tokens),
            Tokens::Wide(tokens) => TokenDataset::from_tokens(tokens),
        }
    }
}
