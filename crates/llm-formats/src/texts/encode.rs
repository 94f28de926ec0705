//! A text as tokens, part by part: of one that does not fit into memory, the tokens may.

use super::text::Text;
use crate::bpe;
use crate::error::{FormatError, Result};
use llm_core::base::memory;
use llm_core::tokenizer::{CharTokenizer, END_OF_TEXT, Tokenizer, first_mark, split_at_marks};
use llm_core::{Error, TokenDataset, TokenId, message};
use rayon::prelude::*;
use std::borrow::Cow;

/// Bytes of a part, at most.
pub const PART: usize = 32 << 20;
/// Shorter parts would save nothing.
const LEAST_PART: usize = 1 << 18;
/// What a byte of a part takes while it is cut: a token at most, twice, in a list that doubles.
const PART_MEMORY: u64 = 12;

/// Bytes of a part for characters, which need no long ones.
const CHAR_PART: usize = 1 << 20;

/// Where texts end in what is read as one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ends<'a> {
    /// The places after the last byte of each text, in rising order, when there are several.
    pub places: &'a [usize],
    /// Whether a text ends where [`END_OF_TEXT`] is written, too.
    pub marked: bool,
}

/// The tokens of a text, read in parts of `part_size` bytes, [`PART`] at most. Parts end where a
/// word, or a character, ends in every case, so that the tokens are those of the whole text; where
/// a text `ends` there is the token that says so, and nothing else goes over that place. Tokens take
/// a byte each where the vocabulary has at most 256, two bytes where it has at most 65,536, else
/// four.
///
/// # Errors
/// [`FormatError::Core`] when there is no room for the tokens, reading fails, or a character at
/// this place of the text is not in the vocabulary, or there is no token for an end;
/// [`FormatError::LongRun`] when a part cannot end anywhere, and a longer one has no room.
pub fn in_parts(
    text: &Text,
    ends: Ends<'_>,
    tokenizer: &dyn Tokenizer,
    part_size: usize,
) -> Result<TokenDataset> {
    let words = tokenizer.name() == bpe::NAME;
    // Less memory, smaller parts: the tokens are the same.
    let room = usize::try_from(memory::available() / PART_MEMORY / 2).unwrap_or(PART);
    let most = if words { PART } else { CHAR_PART };
    let part_size = part_size.min(room.max(LEAST_PART)).clamp(1, most);
    let part = part_size.min(text.len());
    memory::require(if words { bpe::memory_of(part) } else { part as u64 * PART_MEMORY })?;
    let end = tokenizer.end_of_text();
    if end.is_none() && (ends.marked || !ends.places.is_empty()) {
        let why = message!("it has no token that ends a text");
        return Err(Error::tokenizer(tokenizer.name(), why).into());
    }
    let last_cut = |part: &[u8]| tokenizer.last_cut(part);
    let parts = Parts::new(text, ends, part_size, &last_cut);
    Ok(match tokenizer.vocab_size() {
        0..=0x100 => TokenDataset::from_bytes(parts.tokens(tokenizer, |token| token as u8)?),
        0x101..=0x1_0000 => {
            TokenDataset::from_narrow_tokens(parts.tokens(tokenizer, |token| token as u16)?)
        }
        _ => TokenDataset::from_tokens(parts.tokens(tokenizer, |token| token)?),
    })
}

/// The vocabulary of the characters of a text, read in parts; without the marks, where there are
/// such.
///
/// # Errors
/// What [`CharTokenizer::from_text`] refuses; what reading says.
pub fn characters(text: &Text, is_marked: bool) -> Result<CharTokenizer> {
    let ends = Ends { marked: is_marked, ..Ends::default() };
    let mut parts = Parts::new(text, ends, CHAR_PART, &CharTokenizer::last_cut);
    let read = std::iter::from_fn(|| parts.next().transpose());
    let pieces = read.flat_map(|part| match part {
        Ok(part) if is_marked => {
            split_at_marks(&part.bytes).map(|piece| Ok(piece.to_vec().into())).collect()
        }
        part => vec![part.map(|part| part.bytes)],
    });
    Ok(CharTokenizer::from_parts(pieces)?)
}

/// The tokens of a text with marks, whose parts are cut by several threads.
fn marked(tokenizer: &dyn Tokenizer, text: &[u8]) -> llm_core::Result<Vec<TokenId>> {
    let pieces: Vec<&[u8]> = split_at_marks(text).collect();
    let tokens = |piece: &&[u8]| {
        let start = piece.as_ptr().addr() - text.as_ptr().addr();
        tokenizer.encode(piece).map_err(|e| e.after(start as u64))
    };
    let made = pieces.par_iter().map(tokens).collect::<llm_core::Result<Vec<_>>>()?;
    Ok(made.join(tokenizer.end_of_text().as_slice()))
}

/// The last place where a token ends, whatever comes after; `None` without one.
type LastCut<'t> = &'t dyn Fn(&[u8]) -> Option<usize>;

/// Reads a text part by part.
struct Parts<'t> {
    text: &'t Text,
    ends: Ends<'t>,
    part_size: usize,
    last_cut: LastCut<'t>,
    /// Bytes that were read.
    place: usize,
}

/// A part, whose tokens do not depend on what stands before and after it.
struct Part<'t> {
    start: usize,
    bytes: Cow<'t, [u8]>,
    /// Whether a text ends with it.
    ended: bool,
}

impl<'t> Parts<'t> {
    fn new(text: &'t Text, ends: Ends<'t>, part_size: usize, last_cut: LastCut<'t>) -> Parts<'t> {
        Parts { text, ends, part_size, last_cut, place: 0 }
    }

    /// The tokens of all parts, each stored as `to` makes it.
    fn tokens<T>(mut self, tokenizer: &dyn Tokenizer, to: impl Fn(TokenId) -> T) -> Result<Vec<T>> {
        let (end, is_marked) = (tokenizer.end_of_text(), self.ends.marked);
        let mut tokens: Vec<T> = Vec::new();
        let long_run = |e| match e {
            Error::Memory { .. } => FormatError::LongRun(e),
            other => other.into(),
        };
        while let Some(Part { start, bytes, ended }) = self.next().map_err(long_run)? {
            let made = if is_marked { marked(tokenizer, &bytes) } else { tokenizer.encode(&bytes) };
            let mut made = made.map_err(|e| long_run(e.after(start as u64)))?;
            made.extend(end.filter(|_| ended));
            if tokens.capacity() - tokens.len() < made.len() {
                // As many for the rest as for what is read, and some more.
                let per_byte = (tokens.len() + made.len()) as f64 / self.place as f64;
                let rest = ((self.text.len() - start) as f64 * per_byte * 1.05) as usize;
                let rest = rest.max(made.len());
                // A list that grows is copied: for a while there are both.
                memory::require((tokens.len() + rest) as u64 * size_of::<T>() as u64)?;
                tokens.reserve_exact(rest);
            }
            tokens.extend(made.into_iter().map(&to));
        }
        Ok(tokens)
    }

    fn next(&mut self) -> llm_core::Result<Option<Part<'t>>> {
        let start = self.place;
        if start == self.text.len() {
            return Ok(None);
        }
        let end = self.ends.places.first().copied();
        let rest = end.unwrap_or(self.text.len()) - start;
        let mut size = self.part_size;
        loop {
            let mut bytes = self.text.read(start, size.min(rest))?;
            let is_last = bytes.len() == rest;
            let cut = if is_last { Some(rest) } else { self.cut(start, &bytes)? };
            let Some(cut) = cut else {
                size = size.saturating_mul(2); // a word that is longer than a part
                memory::require(2 * size as u64)?;
                continue;
            };
            match &mut bytes {
                Cow::Borrowed(bytes) => *bytes = &bytes[..cut],
                Cow::Owned(bytes) => bytes.truncate(cut),
            }
            self.place = start + cut;
            let ended = is_last && end.is_some();
            if ended {
                self.ends.places = &self.ends.places[1..];
            }
            return Ok(Some(Part { start, bytes, ended }));
        }
    }

    /// Where `part`, which begins at `start`, may end: not within a mark.
    fn cut(&self, start: usize, part: &[u8]) -> llm_core::Result<Option<usize>> {
        let Some(cut) = (self.last_cut)(part) else { return Ok(None) };
        if !self.ends.marked {
            return Ok(Some(cut));
        }
        let from = cut.saturating_sub(END_OF_TEXT.len() - 1);
        let around = self.text.read(start + from, cut - from + END_OF_TEXT.len() - 1)?;
        let mark = first_mark(&around);
        Ok(Some(mark.map_or(cut, |place| from + place)).filter(|&cut| cut > 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizers::with_end_of_text;
    use llm_core::tokenizer::ByteTokenizer;
    use llm_core::tokenizer::encode_marked;
    use std::sync::Arc;

    #[test]
    fn characters_in_parts_are_those_of_the_whole_text() {
        let unit = "naïve 猫🐈 \r\n".as_bytes();
        let text =
            [&unit.repeat(40), &b"\x80".repeat(40)[..], b"\xe7\x8c", &unit.repeat(9)].concat();
        let whole = CharTokenizer::from_text(&text).unwrap();
        let expected = whole.encode(&text).unwrap();
        let text = Text::Memory(text);
        assert_eq!(characters(&text, false).unwrap(), whole);
        for part_size in [1, 2, 3, 4, 5, 7, 64, 1 << 20] {
            let tokens = in_parts(&text, Ends::default(), &whole, part_size).unwrap();
            assert_eq!(tokens.tokens(0, tokens.len()).unwrap(), expected, "{part_size}");
        }
        let few = CharTokenizer::from_text("naïve ".as_bytes()).unwrap();
        let refused = in_parts(&text, Ends::default(), &few, 5).unwrap_err();
        let FormatError::Core(Error::UnknownUnit { position, .. }) = refused else {
            panic!("{refused}")
        };
        assert_eq!(position, 7);
    }

    #[test]
    fn texts_end_at_places_and_marks_however_they_are_read() {
        let mark = END_OF_TEXT;
        let text = format!("ab naïve{mark}猫 c{mark}{mark} d<|endoftext|x\n\n{mark}{mark}");
        let whole = text.as_bytes();
        let places = [2, 3, whole.len()];
        let bytes: Arc<dyn Tokenizer> = Arc::new(ByteTokenizer);
        let held = Text::Memory(whole.to_vec());
        let chars: Arc<dyn Tokenizer> = Arc::new(characters(&held, true).unwrap());
        let learned = bpe::AVAILABLE.then(|| bpe::learn(whole, 262, &|_| ()).unwrap());
        for tokenizer in [bytes, chars].into_iter().chain(learned) {
            let tokenizer = with_end_of_text(tokenizer).unwrap();
            let end = tokenizer.end_of_text().unwrap();
            for marked in [false, true] {
                let encode = |text: &[u8]| match marked {
                    true => encode_marked(&*tokenizer, text).unwrap(),
                    false => tokenizer.encode(text).unwrap_or_default(),
                };
                if !marked && tokenizer.encode(whole).is_err() {
                    continue; // the characters of the mark are not the text's
                }
                let texts = [&whole[..2], &whole[2..3], &whole[3..]];
                let expected: Vec<_> = texts.iter().flat_map(|t| [encode(t), vec![end]]).collect();
                let expected = expected.concat();
                for part_size in (1..40).chain([1 << 20]) {
                    let ends = Ends { places: &places, marked };
                    let made = in_parts(&held, ends, &*tokenizer, part_size).unwrap();
                    let made = made.tokens(0, made.len()).unwrap();
                    assert_eq!(made, expected, "{tokenizer:?} {part_size}");
                }
            }
        }
        let none = in_parts(&held, Ends { places: &places, marked: false }, &ByteTokenizer, 9);
        assert!(matches!(none, Err(FormatError::Core(Error::Tokenizer { .. }))));
    }

    #[test]
    fn more_tokens_to_the_byte_further_on_find_room() {
        let text = [&b"ab".repeat(3000)[..], &"猫".repeat(10).into_bytes()].concat();
        let text = [&"猫".repeat(4000).into_bytes()[..], &text].concat();
        let chars = CharTokenizer::from_text(&text).unwrap();
        let expected = chars.encode(&text).unwrap();
        let tokens = in_parts(&Text::Memory(text), Ends::default(), &chars, 100).unwrap();
        assert_eq!(tokens.tokens(0, tokens.len()).unwrap(), expected);
    }
}
