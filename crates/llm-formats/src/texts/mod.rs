//! Files as one text, or as one sequence of token numbers, in order: where a text ends, what of them
//! stays unseen, and their tokens.
//!
//! Each module imports only from those above it in this list:
//!
//! | module | holds |
//! |---|---|
//! | `text` | a text in memory or on the disk |
//! | `encode` | the tokens of a text, part by part |
//! | `repeated` | how much of one text stands in another |

mod text;

mod encode;

mod repeated;

pub use encode::{PART, characters};
pub use text::Text;

use crate::bpe;
use crate::error::FormatError;
use encode::{Ends, in_parts};
use llm_core::recipe::EndOfText;
use llm_core::tokenizer::{ByteTokenizer, Tokenizer};
use llm_core::{Error, Result, TokenDataset, TokenId, message};
use repeated::repeated;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::mem;
use std::ops::Range;
use std::slice::from_ref;

/// Bytes that are read at a time.
const CHUNK: usize = 1 << 20;

/// Several files, one after the other.
#[derive(Debug)]
pub struct Texts {
    text: Text,
    files: Vec<Place>,
    end_of_text: EndOfText,
    largest: Option<TokenId>,
}

/// Where a file, or a part of it, lies in a text.
#[derive(Clone, Debug)]
struct Place {
    /// Bytes of the file before the part.
    before: usize,
    /// The place in the text after its last byte.
    end: usize,
}

/// Why there are no tokens.
#[derive(Debug)]
pub struct NoTokens {
    /// The number of the file that it is about, from 0 on, where it is about one: then a position is
    /// one in that file.
    pub file: Option<usize>,
    /// The cause.
    pub why: FormatError,
}

impl From<Error> for NoTokens {
    fn from(e: Error) -> NoTokens {
        NoTokens { file: None, why: e.into() }
    }
}

impl Texts {
    /// The text of files with these numbers of bytes; a text ends in them as is given. `numbers`:
    /// they are token numbers of 16 bits, the low byte first.
    ///
    /// # Errors
    /// What reading says.
    pub fn new(
        text: Text,
        lengths: impl IntoIterator<Item = u64>,
        end_of_text: EndOfText,
        numbers: bool,
    ) -> Result<Texts> {
        let place = |end: &mut usize, len: u64| {
            *end += len as usize;
            Some(Place { before: 0, end: *end })
        };
        let files = lengths.into_iter().scan(0, place).collect();
        let largest = if numbers { Some(largest(&text)?) } else { None };
        Ok(Texts { text, files, end_of_text, largest })
    }

    /// The text of all files.
    pub fn text(&self) -> &Text {
        &self.text
    }

    /// Where a text ends.
    pub fn end_of_text(&self) -> EndOfText {
        self.end_of_text
    }

    /// The largest of token numbers, when that is what they are.
    pub fn largest(&self) -> Option<TokenId> {
        self.largest
    }

    /// How many texts they are, where marks in them do not count.
    pub fn count(&self) -> usize {
        ends_of(self.end_of_text, &self.files).len().max(1)
    }

    /// Whether they are several texts, or several lists of numbers, and not one in parts.
    pub fn are_several(&self) -> bool {
        self.files.len() > 1 && (self.end_of_text != EndOfText::None || self.largest.is_some())
    }

    /// The bytes of each file.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let starts = [0].into_iter().chain(self.files.iter().map(|file| file.end));
        starts.zip(&self.files).map(|(start, file)| start..file.end)
    }

    /// The hash of all bytes, of several texts also of the places where one ends: they decide where a
    /// token says so, and what is unseen.
    ///
    /// # Errors
    /// What reading says.
    pub fn blake3(&self) -> Result<[u8; 32]> {
        let bytes = match &self.text {
            Text::Memory(bytes) => blake3::hash(bytes).into(),
            Text::Disk(files) => files.blake3()?,
        };
        if !self.are_several() {
            return Ok(bytes);
        }
        // Runs that judged by the end of all files together have another hash.
        let mut hash = blake3::Hasher::new_derive_key("an-unseen-end-of-each");
        hash.update(&bytes);
        for file in &self.files {
            hash.update(&(file.end as u64).to_le_bytes());
        }
        Ok(hash.finalize().into())
    }

    /// The first file of these that is one of the others too, byte for byte: both numbers, from 0 on.
    ///
    /// # Errors
    /// What reading says.
    pub fn equal_file(&self, others: &Texts) -> Result<Option<(usize, usize)>> {
        // Only those are read that have the length of one of the others, and each once.
        let lengths: BTreeSet<usize> = self.ranges().map(|own| own.len()).collect();
        let alike = others.ranges().enumerate().filter(|(_, other)| lengths.contains(&other.len()));
        let mut known = HashMap::new();
        for (k, other) in alike.filter(|(_, other)| !other.is_empty()) {
            known.entry(hash(&others.text, other.clone())?).or_insert((k, other.len()));
        }
        let lengths: BTreeSet<usize> = known.values().map(|(_, len)| *len).collect();
        for (i, own) in self.ranges().enumerate().filter(|(_, own)| lengths.contains(&own.len())) {
            if let Some((k, _)) = known.get(&hash(&self.text, own)?) {
                return Ok(Some((i, *k)));
            }
        }
        Ok(None)
    }

    /// How much of these stands in others, word for word.
    ///
    /// # Errors
    /// What reading says.
    pub fn repeated_in(&self, others: &Texts) -> Result<f64> {
        let [all, among] = [self, others].map(|texts| 0..texts.text.len());
        repeated((&self.text, from_ref(&all)), (&others.text, from_ref(&among)))
    }

    /// How much of what is set apart stands in the rest, word for word.
    ///
    /// # Errors
    /// What reading says.
    pub fn repeated(&self, share: f64) -> Result<f64> {
        let unseen = self.unseen(share)?;
        repeated((&self.text, &unseen), (&self.text, &self.text.without(&unseen)))
    }

    /// Whether another text comes back from the tokenizer than went in, as far as the beginning shows.
    pub fn is_respelt(&self, tokenizer: &dyn Tokenizer) -> bool {
        const SAMPLE: usize = 1 << 16;
        if tokenizer.name() != bpe::NAME || self.largest.is_some() {
            return false;
        }
        let Ok(sample) = self.text.read(0, SAMPLE) else { return false };
        let whole = std::str::from_utf8(&sample).map_or_else(|e| e.valid_up_to(), str::len);
        let tokens = tokenizer.encode(&sample[..whole]);
        tokens.and_then(|t| tokenizer.decode(&t)).is_ok_and(|text| text != sample[..whole])
    }

    /// Which bytes of each file stay unseen when `share` of all is set apart: its end, from where a
    /// character begins.
    fn unseen(&self, share: f64) -> Result<Vec<Range<usize>>> {
        let files: Vec<_> = match self.are_several() {
            true => self.ranges().collect(),
            false => std::iter::once(0..self.text.len()).collect(),
        };
        let mut taken = 0;
        let unseen = files.into_iter().map(|file| {
            // So much of all bytes up to here: of many small files there is something unseen, too.
            let due = (file.end as f64 * share.clamp(0.0, 1.0)) as usize;
            let cut = file.end - due.saturating_sub(taken).min(file.len());
            let start = match self.largest {
                _ if cut == file.end => cut,
                Some(_) => cut.next_multiple_of(2),
                None => self.character_at(cut)?.max(file.start),
            };
            taken += file.end - start;
            Ok(start..file.end)
        });
        unseen.collect()
    }

    /// Where the character begins that the byte at this place is of; the place itself in what is no
    /// UTF-8.
    fn character_at(&self, place: usize) -> Result<usize> {
        let before = place.saturating_sub(3);
        let bytes = self.text.read(before, place - before + 1)?;
        let begins = bytes.iter().rposition(|byte| byte & 0xC0 != 0x80);
        Ok(begins.map_or(place, |begins| before + begins))
    }

    /// The text without `share` of it, or evenly spaced parts of that which are no more than `most`
    /// bytes.
    ///
    /// # Errors
    /// What reading says.
    pub fn learned(&self, share: f64, most: Option<usize>) -> Result<Cow<'_, [u8]>> {
        let learned = self.text.without(&self.unseen(share)?);
        self.text.sample(&learned, most.unwrap_or(self.text.len()))
    }

    /// The tokens for training and of the `share` that is kept out of it: the last ones of one
    /// text, else those of the end of each. The text is read in parts of `part_size` bytes, see
    /// `in_parts`.
    ///
    /// # Errors
    /// As [`Texts::tokens`].
    pub fn divided(
        mut self,
        share: f64,
        tokenizer: &dyn Tokenizer,
        part_size: usize,
    ) -> std::result::Result<[TokenDataset; 2], NoTokens> {
        if !self.are_several() || share == 0.0 {
            return Ok(self.tokens(tokenizer, part_size)?.split(share).into());
        }
        let unseen = self.unseen(share)?;
        let (mut learned, mut apart, mut ends) = (Vec::new(), Vec::new(), [0; 2]);
        for (file, unseen) in self.ranges().zip(&unseen) {
            let before = unseen.start - file.start;
            ends = [ends[0] + before, ends[1] + unseen.len()];
            learned.push(Place { before: 0, end: ends[0] });
            apart.push(Place { before, end: ends[1] });
        }
        let [rest, taken] = self.take().divide(&unseen);
        let train = self.tokens_of(rest, &learned, tokenizer, part_size)?;
        Ok([train, self.tokens_of(taken, &apart, tokenizer, part_size)?])
    }

    /// All tokens.
    ///
    /// # Errors
    /// [`NoTokens`], naming the file with a character that the vocabulary does not have.
    pub fn tokens(
        mut self,
        tokenizer: &dyn Tokenizer,
        part_size: usize,
    ) -> std::result::Result<TokenDataset, NoTokens> {
        let text = self.take();
        self.tokens_of(text, &self.files, tokenizer, part_size)
    }

    /// The text, which is not there any more.
    fn take(&mut self) -> Text {
        mem::replace(&mut self.text, Text::Memory(Vec::new()))
    }

    /// The tokens of a part of the text, which holds so much of each file.
    fn tokens_of(
        &self,
        text: Text,
        files: &[Place],
        tokenizer: &dyn Tokenizer,
        part_size: usize,
    ) -> std::result::Result<TokenDataset, NoTokens> {
        if self.largest.is_some() {
            return Ok(numbers(text));
        }
        let places = ends_of(self.end_of_text, files);
        let (marked, end) = (self.end_of_text == EndOfText::Marked, tokenizer.end_of_text());
        // Bytes are tokens where they are.
        let stay = tokenizer.name() == ByteTokenizer::NAME && !marked;
        let bytes = match text {
            Text::Disk(files) if stay => TokenDataset::from_files(files),
            Text::Memory(text) if stay => TokenDataset::from_bytes(text),
            text => {
                let made = in_parts(&text, Ends { places: &places, marked }, tokenizer, part_size);
                return made.map_err(|why| in_file(why, files));
            }
        };
        match end {
            _ if places.is_empty() => Ok(bytes),
            Some(end) => Ok(bytes.with_ends(places, end)?),
            None => {
                let why = message!("it has no token that ends a text");
                Err(Error::tokenizer(tokenizer.name(), why).into())
            }
        }
    }
}

/// Where something stands in the file that it is in.
fn in_file(why: FormatError, files: &[Place]) -> NoTokens {
    let FormatError::Core(Error::UnknownUnit { unit, position }) = why else {
        return NoTokens { file: None, why };
    };
    let at = position as usize;
    let file = files.partition_point(|file| file.end <= at);
    let start = file.checked_sub(1).map_or(0, |before| files[before].end);
    let before = files.get(file).map_or(0, |file| file.before);
    let position = (before + at - start) as u64;
    NoTokens { file: Some(file), why: Error::UnknownUnit { unit, position }.into() }
}

/// The hash of some bytes of a text.
fn hash(text: &Text, range: Range<usize>) -> Result<blake3::Hash> {
    let mut hash = blake3::Hasher::new();
    for place in range.clone().step_by(CHUNK) {
        hash.update(&text.read(place, CHUNK.min(range.end - place))?);
    }
    Ok(hash.finalize())
}

/// The largest of numbers of 16 bits.
fn largest(text: &Text) -> Result<TokenId> {
    let mut largest = 0;
    for place in (0..text.len()).step_by(CHUNK) {
        let part = text.read(place, CHUNK)?;
        let tokens = part.as_chunks().0.iter().map(|&pair| u16::from_le_bytes(pair));
        largest = tokens.fold(largest, u16::max);
    }
    Ok(largest.into())
}

/// Numbers of 16 bits as tokens.
fn numbers(text: Text) -> TokenDataset {
    match text {
        Text::Disk(files) => TokenDataset::from_narrow_files(files),
        Text::Memory(bytes) => {
            let tokens = bytes.as_chunks().0.iter().map(|&pair| u16::from_le_bytes(pair));
            TokenDataset::from_narrow_tokens(tokens.collect())
        }
    }
}

/// The places after the last byte of each text; none where all is one.
fn ends_of(end_of_text: EndOfText, files: &[Place]) -> Vec<usize> {
    if end_of_text == EndOfText::None || files.len() < 2 {
        return Vec::new();
    }
    let mut places: Vec<_> = files.iter().map(|file| file.end).collect();
    places.dedup(); // an empty file is no text
    places.retain(|&end| end > 0);
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::tokenizer::{CharTokenizer, WithEndOfText};
    use proptest::prelude::*;
    use std::sync::Arc;

    fn texts(files: &[&str], end_of_text: EndOfText) -> Texts {
        let text = Text::Memory(files.concat().into_bytes());
        Texts::new(text, files.iter().map(|file| file.len() as u64), end_of_text, false).unwrap()
    }

    fn bytes() -> Arc<dyn Tokenizer> {
        WithEndOfText::extend(Arc::new(ByteTokenizer)).unwrap()
    }

    fn tokens(data: &TokenDataset) -> Vec<TokenId> {
        data.tokens(0, data.len()).unwrap()
    }

    #[test]
    fn the_end_of_each_is_unseen_and_each_part_ends() {
        let (tokenizer, files) = (bytes(), ["0123456789", "", "abcdefghij"]);
        let end = tokenizer.end_of_text().unwrap();
        let divided = texts(&files, EndOfText::Files).divided(0.2, &*tokenizer, 64).unwrap();
        let of = |text: &str| text.bytes().map(TokenId::from).chain([end]).collect::<Vec<_>>();
        assert_eq!(tokens(&divided[0]), [of("01234567"), of("abcdefgh")].concat());
        assert_eq!(tokens(&divided[1]), [of("89"), of("ij")].concat());
        // One text in parts has one end.
        let divided = texts(&files, EndOfText::None).divided(0.2, &ByteTokenizer, 64).unwrap();
        assert_eq!(tokens(&divided[1]), "ghij".bytes().map(TokenId::from).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_unknown_is_found_in_its_file() {
        let chars = CharTokenizer::from_text(b"abc").unwrap();
        let chars = WithEndOfText::extend(Arc::new(chars)).unwrap();
        for (files, share, place) in [
            (["abc", "abXc"], 0.0, (1, 2)),
            (["aaaaaaaaaX", "b"], 0.1, (0, 9)),
            (["a", "bbbbbbbbXb"], 0.2, (1, 8)),
        ] {
            let texts = texts(&files, EndOfText::Files);
            let NoTokens { file, why } = texts.divided(share, &*chars, 64).unwrap_err();
            let FormatError::Core(Error::UnknownUnit { position, .. }) = why else {
                panic!("{why}")
            };
            assert_eq!((file, position), (Some(place.0), place.1), "{files:?}");
        }
    }

    #[test]
    fn equal_files_are_found() {
        let [own, others] = [["x", "abc"], ["abcd", "abc"]].map(|f| texts(&f, EndOfText::Files));
        assert_eq!(own.equal_file(&others).unwrap(), Some((1, 1)));
        assert_eq!(own.equal_file(&texts(&["y", "abd"], EndOfText::Files)).unwrap(), None);
        let joined = texts(&["xabc"], EndOfText::None);
        assert_ne!(own.blake3().unwrap(), joined.blake3().unwrap());
        let parts = texts(&["x", "abc"], EndOfText::None);
        assert_eq!(parts.blake3().unwrap(), joined.blake3().unwrap());
    }

    proptest! {
        /// Whatever the files are: the training part and the rest are all of them, and no character
        /// is cut in two.
        #[test]
        fn nothing_is_lost_and_nothing_is_cut(files: Vec<String>, share in 0.0..1.0f64) {
            let files: Vec<&str> = files.iter().map(String::as_str).collect();
            let texts = texts(&files, EndOfText::Files);
            let unseen = texts.unseen(share).unwrap();
            let all = files.concat();
            prop_assert!(unseen.iter().all(|r| all.is_char_boundary(r.start)));
            let len: usize = unseen.iter().map(Range::len).sum();
            let due = (all.len() as f64 * share) as usize;
            prop_assert!((due..due + 4).contains(&len), "{len} of {due}");
            let learned = texts.learned(share, None).unwrap();
            prop_assert_eq!(learned.len() + len, all.len());
        }
    }
}
