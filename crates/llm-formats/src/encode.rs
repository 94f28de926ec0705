//! A text as tokens, part by part: of one that does not fit into memory, the tokens may.

use crate::bpe;
use crate::error::{FormatError, Result};
use crate::text::Text;
use llm_core::base::memory;
use llm_core::tokenizer::{CharTokenizer, Tokenizer};
use llm_core::{Error, TokenDataset, TokenId};

/// Bytes of a part, at most.
pub const PART: usize = 32 << 20;
/// Shorter parts would save nothing.
const LEAST_PART: usize = 1 << 18;
/// What a byte of a part takes while it is cut: a token at most, twice, in a list that doubles.
const PART_MEMORY: u64 = 12;
/// What cutting takes in any case: the words that each thread remembers.
const AT_LEAST: u64 = 16 << 20;

/// Of characters, which need no long parts.
const CHAR_PART: usize = 1 << 20;

/// The tokens of a BPE or character tokenizer, read in parts of `part_size` bytes, [`PART`] at
/// most. Parts end where a word, or a character, ends in every case, so that the tokens are those
/// of the whole text. They take a byte each where the vocabulary has at most 256, two bytes where
/// it has at most 65,536, else four.
///
/// # Errors
/// [`FormatError::Core`] when there is no room for the tokens, reading fails, or a character at
/// this place of the text is not in the vocabulary; [`FormatError::LongRun`] when a part cannot end
/// anywhere, and a longer one has no room.
pub fn in_parts(text: &Text, tokenizer: &dyn Tokenizer, part_size: usize) -> Result<TokenDataset> {
    let chars = tokenizer.name() == CharTokenizer::NAME;
    let last_cut = if chars { CharTokenizer::last_cut } else { bpe::last_cut };
    // Less memory, smaller parts: the tokens are the same.
    let room = usize::try_from(memory::available() / PART_MEMORY / 2).unwrap_or(PART);
    let most = if chars { CHAR_PART } else { PART };
    let part_size = part_size.min(room.max(LEAST_PART)).clamp(1, most);
    let at_least = if chars { 0 } else { AT_LEAST };
    memory::require(at_least + part_size.min(text.len()) as u64 * PART_MEMORY)?;
    let mut tokens = Tokens::new(tokenizer.vocab_size());
    let (mut place, mut size) = (0, part_size);
    while place < text.len() {
        let part = text.read(place, size)?;
        let is_last = place + part.len() == text.len();
        let end = if is_last { Some(part.len()) } else { last_cut(&part) };
        let Some(end) = end else {
            size = size.saturating_mul(2); // a word that is longer than a part
            memory::require(2 * size as u64).map_err(FormatError::LongRun)?;
            continue;
        };
        let made = tokenizer.encode(&part[..end]).map_err(|e| match e {
            Error::Memory { .. } => FormatError::LongRun(e),
            Error::UnknownUnit { unit, position } => {
                Error::UnknownUnit { unit, position: position + place as u64 }.into()
            }
            other => other.into(),
        })?;
        if tokens.room() < made.len() {
            // As many for the rest as for what is read, and some more.
            let per_byte = (tokens.len() + made.len()) as f64 / (place + end) as f64;
            let rest = ((text.len() - place) as f64 * per_byte * 1.05) as usize;
            let rest = rest.max(made.len());
            // A list that grows is copied: for a while there are both.
            memory::require((tokens.len() + rest) as u64 * tokens.width())?;
            tokens.reserve(rest);
        }
        tokens.extend(&made);
        (place, size) = (place + end, part_size);
    }
    Ok(tokens.finish())
}

/// The vocabulary of the characters of a text, read in parts.
///
/// # Errors
/// What [`CharTokenizer::from_text`] refuses; what reading says.
pub fn characters(text: &Text) -> llm_core::Result<CharTokenizer> {
    let mut place = 0;
    CharTokenizer::from_parts(std::iter::from_fn(|| {
        let part = (place < text.len()).then(|| text.read(place, CHAR_PART))?;
        Some(part.map(|mut part| {
            let is_last = place + part.len() == text.len();
            let end = CharTokenizer::last_cut(&part).filter(|_| !is_last).unwrap_or(part.len());
            place += end;
            part.to_mut().truncate(end);
            part
        }))
    }))
}

/// Tokens in as few bytes each as the vocabulary allows.
enum Tokens {
    Bytes(Vec<u8>),
    Narrow(Vec<u16>),
    Wide(Vec<TokenId>),
}

impl Tokens {
    fn new(vocab_size: usize) -> Tokens {
        match vocab_size {
            0..=0x100 => Tokens::Bytes(Vec::new()),
            0x101..=0x1_0000 => Tokens::Narrow(Vec::new()),
            _ => Tokens::Wide(Vec::new()),
        }
    }

    fn width(&self) -> u64 {
        match self {
            Tokens::Bytes(_) => 1,
            Tokens::Narrow(_) => 2,
            Tokens::Wide(_) => 4,
        }
    }

    fn len(&self) -> usize {
        match self {
            Tokens::Bytes(tokens) => tokens.len(),
            Tokens::Narrow(tokens) => tokens.len(),
            Tokens::Wide(tokens) => tokens.len(),
        }
    }

    /// How many more take no more memory.
    fn room(&self) -> usize {
        let capacity = match self {
            Tokens::Bytes(tokens) => tokens.capacity(),
            Tokens::Narrow(tokens) => tokens.capacity(),
            Tokens::Wide(tokens) => tokens.capacity(),
        };
        capacity - self.len()
    }

    fn reserve(&mut self, more: usize) {
        match self {
            Tokens::Bytes(tokens) => tokens.reserve_exact(more),
            Tokens::Narrow(tokens) => tokens.reserve_exact(more),
            Tokens::Wide(tokens) => tokens.reserve_exact(more),
        }
    }

    fn extend(&mut self, more: &[TokenId]) {
        match self {
            Tokens::Bytes(tokens) => tokens.extend(more.iter().map(|&token| token as u8)),
            Tokens::Narrow(tokens) => tokens.extend(more.iter().map(|&token| token as u16)),
            Tokens::Wide(tokens) => tokens.extend_from_slice(more),
        }
    }

    fn finish(self) -> TokenDataset {
        match self {
            Tokens::Bytes(tokens) => TokenDataset::from_bytes(tokens),
            Tokens::Narrow(tokens) => TokenDataset::from_narrow_tokens(tokens),
            Tokens::Wide(tokens) => TokenDataset::from_tokens(tokens),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_in_parts_are_those_of_the_whole_text() {
        let unit = "naïve 猫🐈 \r\n".as_bytes();
        let text =
            [&unit.repeat(40), &b"\x80".repeat(40)[..], b"\xe7\x8c", &unit.repeat(9)].concat();
        let whole = CharTokenizer::from_text(&text).unwrap();
        let expected = whole.encode(&text).unwrap();
        let text = Text::Memory(text);
        assert_eq!(characters(&text).unwrap(), whole);
        for part_size in [1, 2, 3, 4, 5, 7, 64, 1 << 20] {
            let tokens = in_parts(&text, &whole, part_size).unwrap();
            assert_eq!(tokens.tokens(0, tokens.len()).unwrap(), expected, "{part_size}");
        }
        let few = CharTokenizer::from_text("naïve ".as_bytes()).unwrap();
        let refused = in_parts(&text, &few, 5).unwrap_err();
        let FormatError::Core(Error::UnknownUnit { position, .. }) = refused else {
            panic!("{refused}")
        };
        assert_eq!(position, 7);
    }

    #[test]
    fn more_tokens_to_the_byte_further_on_find_room() {
        let text = [&b"ab".repeat(3000)[..], &"猫".repeat(10).into_bytes()].concat();
        let text = [&"猫".repeat(4000).into_bytes()[..], &text].concat();
        let chars = CharTokenizer::from_text(&text).unwrap();
        let expected = chars.encode(&text).unwrap();
        let tokens = in_parts(&Text::Memory(text), &chars, 100).unwrap();
        assert_eq!(tokens.tokens(0, tokens.len()).unwrap(), expected);
    }
}
