//! Where text is cut before anything is merged: GPT-2's words.
//!
//! GPT-2's pattern is
//! `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`. Its one look-ahead
//! says that a run of white space leaves its last character to what follows it. That is done by
//! hand here: the rest of the pattern needs no backtracking, so the longest run of anything is cut
//! in linear time, without a limit.

use llm_core::{Error, Result};
use regex::Regex;
use std::sync::LazyLock;

const PATTERN: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+";

/// Bytes of a piece: enough to keep a thread busy.
const PIECE: usize = 1 << 18;

/// Cuts text into words. A copy has working memory of its own, for another thread.
#[derive(Clone)]
pub(super) struct Splitter(Regex);

static SPLITTER: LazyLock<Result<Splitter, regex::Error>> =
    LazyLock::new(|| Regex::new(PATTERN).map(Splitter));

impl Splitter {
    /// The one there is.
    pub(super) fn get() -> Result<&'static Splitter> {
        SPLITTER.as_ref().map_err(|e| Error::tokenizer("bpe", e.to_string()))
    }

    /// All words of a text, one after the other.
    pub(super) fn words<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let mut start = 0;
        std::iter::from_fn(move || {
            let found = self.0.find_at(text, start)?;
            let mut end = found.end();
            let mut chars = found.as_str().chars();
            if end < text.len() && chars.clone().all(char::is_whitespace) {
                // \s+(?!\S), or \s+ when there is one character only
                let last = chars.next_back().map_or(0, char::len_utf8);
                if end - last > start {
                    end -= last;
                }
            }
            let word = text.get(start..end)?;
            start = end;
            Some(word)
        })
    }
}

/// Cuts any bytes where a word ends in every case, into pieces of some size: the words of the text
/// are those of its pieces.
///
/// Such a place is in front of ASCII white space that follows a character which is none: only the
/// first character of a word can be white space if not all are, and what follows a word decides
/// nothing about it unless it ends in white space.
pub(super) fn pieces(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at(cut(rest, PIECE).unwrap_or(rest.len()));
        rest = after;
        Some(piece)
    })
}

/// The first such place at `from` or later.
pub(super) fn cut(text: &[u8], from: usize) -> Option<usize> {
    let places = from.max(1)..text.len();
    places.into_iter().find(|&i| is_space(text[i]) && ends_a_word(&text[..i]))
}

/// The last place where a word ends in every case: the words of the text are those of the two
/// parts. For texts that are read part by part.
pub fn last_cut(text: &[u8]) -> Option<usize> {
    (1..text.len()).rev().find(|&i| is_space(text[i]) && ends_a_word(&text[..i]))
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t'..=b'\r')
}

/// Is the last character of the text no white space? A byte that is no text is none.
fn ends_a_word(text: &[u8]) -> bool {
    let tail = &text[text.len().saturating_sub(4)..];
    let last = tail.utf8_chunks().last();
    last.is_some_and(|chunk| match chunk.invalid() {
        [] => chunk.valid().chars().next_back().is_some_and(|c| !c.is_whitespace()),
        _ => true,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;
    use tokenizers::pre_tokenizers::byte_level::ByteLevel;
    use tokenizers::{OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer};

    /// Characters that the pattern tells apart, and their neighbours.
    pub(in super::super) const AWKWARD: &str = "( {1,9}|\n{1,3}|\r\n|\t|\u{a0}|\u{3000}|\u{2028}|\u{85}|'|'s|'ll|'RE|a|Zé|猫|é|e\u{301}|١|5|²|Ⅷ|🐈\u{200d}⬛|\\.|_|\u{0}|\u{ad}|\\PC){0,40}";

    fn library(text: &str) -> Vec<String> {
        let mut cut = PreTokenizedString::from(text);
        ByteLevel::new(false, true, true).pre_tokenize(&mut cut).unwrap();
        let splits = cut.get_splits(OffsetReferential::Original, OffsetType::Byte);
        splits.into_iter().map(|(_, (from, to), _)| text[from..to].to_string()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn words_are_the_library_s(text in AWKWARD) {
            let words: Vec<&str> = Splitter::get().unwrap().words(&text).collect();
            prop_assert_eq!(words, library(&text));
        }

        #[test]
        fn cuts_part_no_word(text in AWKWARD, junk in proptest::collection::vec(any::<u8>(), 0..9), at in 0usize..60) {
            let text = [text.as_bytes(), &junk, text.as_bytes()].concat();
            let splitter = Splitter::get().unwrap();
            let words = |text: &[u8]| -> Vec<Vec<u8>> {
                let mut words = Vec::new();
                for chunk in text.utf8_chunks() {
                    words.extend(splitter.words(chunk.valid()).map(|w| w.as_bytes().to_vec()));
                    words.extend(chunk.invalid().iter().map(|b| vec![*b]));
                }
                words
            };
            for place in [cut(&text, at), last_cut(&text)].into_iter().flatten() {
                let (before, after) = text.split_at(place);
                prop_assert_eq!([words(before), words(after)].concat(), words(&text));
            }
        }
    }

    #[test]
    fn long_runs_are_one_word() {
        let splitter = Splitter::get().unwrap();
        for unit in ["a", " ", "\n", "!", "7", "猫"] {
            let text = unit.repeat(1_200_000);
            assert_eq!(splitter.words(&text).count(), 1);
            let text = text + "'s";
            assert_eq!(splitter.words(&text).map(str::len).sum::<usize>(), text.len());
        }
    }

    #[test]
    fn pieces_are_the_text() {
        let text = "some words in a row, 猫\n".repeat(50_000);
        let all: Vec<&[u8]> = pieces(text.as_bytes()).collect();
        assert!(all.len() > 3 && all.concat() == text.as_bytes());
        assert!(all[..all.len() - 1].iter().all(|p| p.len() < PIECE + 20));
        assert_eq!(pieces(&[b'a'; 2 * PIECE]).count(), 1);
        assert_eq!(pieces(b"").count(), 0);
    }
}
