//! The characters of a text are its vocabulary, in sorted order.
//!
//! A unit is a Unicode scalar value, as its UTF-8 bytes, or a byte that is no part of valid UTF-8:
//! so any file can be trained on, and is decoded byte for byte.

use super::Tokenizer;
use crate::base::escape::safe_token;
use crate::base::{Error, Message, Result, TokenId};
use crate::message;
use std::collections::BTreeSet;
use std::fmt;

/// One token per character.
///
/// The blob is the vocabulary: for every unit, in rising order of their bytes, its length in one
/// byte and its bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct CharTokenizer {
    /// All units, one after the other.
    bytes: Vec<u8>,
    /// V + 1 places in `bytes`: unit i is `bytes[starts[i]..starts[i + 1]]`.
    starts: Vec<u32>,
    /// The tokens of ASCII, which is most of most texts.
    ascii: [Option<TokenId>; 128],
}

impl fmt::Debug for CharTokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self as &dyn Tokenizer).fmt(f)
    }
}

impl CharTokenizer {
    /// Name in checkpoints and flags.
    pub const NAME: &'static str = "char";
    /// Most units.
    pub const MAX_VOCAB: usize = 1 << 20;

    /// The vocabulary of a text: each of its units once.
    ///
    /// # Errors
    /// [`Error::Tokenizer`] when the text is empty, or has more than
    /// [`MAX_VOCAB`](CharTokenizer::MAX_VOCAB) different units.
    pub fn from_text(text: &[u8]) -> Result<CharTokenizer> {
        CharTokenizer::from_parts([Ok(text)])
    }

    /// The vocabulary of a text that comes in parts, none of which ends within a unit: see
    /// [`last_cut`](CharTokenizer::last_cut).
    ///
    /// # Errors
    /// As [`CharTokenizer::from_text`]; the first error among the parts.
    pub fn from_parts<T: AsRef<[u8]>>(
        parts: impl IntoIterator<Item = Result<T>>,
    ) -> Result<CharTokenizer> {
        let mut seen = [false; 128];
        let mut others: BTreeSet<Vec<u8>> = BTreeSet::new();
        for part in parts {
            for (_, unit) in units(part?.as_ref()) {
                match unit {
                    [b] if b.is_ascii() => seen[usize::from(*b)] = true,
                    other if others.contains(other) => {}
                    other => drop(others.insert(other.to_vec())),
                }
            }
        }
        let ascii: Vec<[u8; 1]> = (0..128).filter(|&b| seen[usize::from(b)]).map(|b| [b]).collect();
        // Every ASCII byte is less than whatever other units begin with.
        CharTokenizer::new(ascii.iter().map(|b| &b[..]).chain(others.iter().map(|u| &u[..])))
    }

    /// The last place inside `part` where a unit ends, whatever comes after `part`; `None` without
    /// one: never in a part of more than four bytes.
    pub fn last_cut(part: &[u8]) -> Option<usize> {
        let continues = |b: &u8| (0x80..0xC0).contains(b);
        // A character has at most three bytes that continue it.
        let cut =
            |&p: &usize| !continues(&part[p]) || p >= 3 && part[p - 3..p].iter().all(continues);
        (1..part.len()).rev().find(cut)
    }

    /// The vocabulary that [`Tokenizer::blob`] wrote.
    ///
    /// # Errors
    /// [`Error::Tokenizer`] when the blob is anything else: units not in rising order, not one
    /// character each, none at all, too many, or cut.
    pub fn from_blob(blob: &[u8]) -> Result<CharTokenizer> {
        let refuse = |place: usize, why: Message| {
            let reason = message!("its data at byte {}: {}", place, why);
            Error::tokenizer(CharTokenizer::NAME, reason)
        };
        let mut found: Vec<&[u8]> = Vec::new();
        let mut rest = blob;
        while let Some((&length, after)) = rest.split_first() {
            let place = blob.len() - rest.len();
            let cut = after.split_at_checked(usize::from(length));
            let (unit, after) = cut.ok_or_else(|| refuse(place, message!("a cut character")))?;
            if units(unit).next().is_none_or(|(_, first)| first != unit) {
                return Err(refuse(place, message!("not one character")));
            }
            if found.last().is_some_and(|last| *last >= unit) {
                return Err(refuse(place, message!("characters out of order")));
            }
            if found.len() == CharTokenizer::MAX_VOCAB {
                return Err(refuse(place, message!("too many characters")));
            }
            found.push(unit);
            rest = after;
        }
        CharTokenizer::new(found.into_iter())
    }

    /// From units in rising order.
    fn new<'a>(sorted: impl Iterator<Item = &'a [u8]>) -> Result<CharTokenizer> {
        let (mut bytes, mut starts, mut ascii) = (Vec::new(), vec![0], [None; 128]);
        for (token, unit) in sorted.enumerate() {
            if token == CharTokenizer::MAX_VOCAB {
                let reason = message!("more than {} different characters", token);
                return Err(Error::tokenizer(CharTokenizer::NAME, reason));
            }
            if let [b @ 0..128] = unit {
                ascii[usize::from(*b)] = Some(token as TokenId);
            }
            bytes.extend_from_slice(unit);
            starts.push(bytes.len() as u32); // at most 4·MAX_VOCAB
        }
        if bytes.is_empty() {
            return Err(Error::tokenizer(CharTokenizer::NAME, message!("no characters")));
        }
        Ok(CharTokenizer { bytes, starts, ascii })
    }

    /// The token of a unit.
    fn find(&self, unit: &[u8]) -> Option<TokenId> {
        if let [b @ 0..128] = unit {
            return self.ascii[usize::from(*b)];
        }
        let (mut low, mut high) = (0, self.vocab_size());
        while low < high {
            let middle = low.midpoint(high);
            match self.bytes_of(middle as TokenId).cmp(unit) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle as TokenId),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }
}

impl Tokenizer for CharTokenizer {
    fn name(&self) -> &str {
        CharTokenizer::NAME
    }

    fn vocab_size(&self) -> usize {
        self.starts.len() - 1
    }

    fn encode(&self, text: &[u8]) -> Result<Vec<TokenId>> {
        let token = |(position, unit): (usize, &[u8])| {
            let unknown = || Error::UnknownUnit { unit: named(unit), position: position as u64 };
            self.find(unit).ok_or_else(unknown)
        };
        units(text).map(token).collect()
    }

    fn bytes_of(&self, token: TokenId) -> &[u8] {
        let place = token as usize;
        match self.starts.get(place..).unwrap_or_default() {
            [start, end, ..] => &self.bytes[*start as usize..*end as usize],
            _ => &[],
        }
    }

    fn blob(&self) -> Vec<u8> {
        let mut blob = Vec::with_capacity(self.bytes.len() + self.vocab_size());
        for token in 0..self.vocab_size() {
            let unit = self.bytes_of(token as TokenId);
            blob.push(unit.len() as u8);
            blob.extend_from_slice(unit);
        }
        blob
    }

    fn last_cut(&self, text: &[u8]) -> Option<usize> {
        CharTokenizer::last_cut(text)
    }
}

/// The units of a text with their places.
fn units(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = *rest.first()?;
        let most = if first.is_ascii() { 1 } else { rest.len().min(4) };
        // The first of the next bytes' characters, else the first byte alone.
        let length = match rest[..most].utf8_chunks().next() {
            Some(chunk) => chunk.valid().chars().next().map_or(1, char::len_utf8),
            None => 1,
        };
        let place = text.len() - rest.len();
        let (unit, after) = rest.split_at(length);
        rest = after;
        Some((place, unit))
    })
}

/// A unit for a message: `'é' (U+00E9)`, `'\n' (U+000A)`, `the byte \xFF`.
fn named(unit: &[u8]) -> Message {
    match std::str::from_utf8(unit).ok().and_then(|text| text.chars().next()) {
        Some(c) => format!("'{}' (U+{:04X})", c.escape_debug(), u32::from(c)).into(),
        None => message!("the byte {}", safe_token(unit)),
    }
}

#[cfg(test)]
mod tests;
