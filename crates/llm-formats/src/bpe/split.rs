//! Where text is cut before anything is merged: into words, of one of the kinds that are known.
//!
//! Every pattern ends with `|\s+(?!\S)|\s+`. This look-ahead says that a run of white space leaves its
//! last character to what follows it. That is done by hand here: the rest of the pattern needs no
//! backtracking, so the longest run of anything is cut in linear time, without a limit.

use super::kind::Words;
use llm_core::{Error, Result, message};
use regex::Regex;
use std::sync::LazyLock;

/// Bytes of a piece: enough to keep a thread busy.
const PIECE: usize = 1 << 18;

impl Words {
    /// Whether line breaks belong to the signs before them.
    fn joins_line_breaks(self) -> bool {
        matches!(self, Words::Llama3 | Words::Qwen2)
    }
}

/// Cuts text into words. A copy has working memory of its own, for another thread.
#[derive(Clone)]
pub(super) struct Splitter {
    words: Words,
    pattern: Regex,
}

/// A splitter for each kind.
static SPLITTERS: LazyLock<Result<Vec<Splitter>, regex::Error>> = LazyLock::new(|| {
    let one = |words: Words| {
        let pattern = Regex::new(&format!(r"{}|\s+", words.pattern()))?;
        Ok(Splitter { words, pattern })
    };
    Words::ALL.into_iter().map(one).collect()
});

impl Splitter {
    /// The splitter of these words.
    pub(super) fn get(words: Words) -> Result<&'static Splitter> {
        let all = SPLITTERS.as_ref().map_err(|e| Error::tokenizer("bpe", e.to_string()))?;
        let found = all.iter().find(|splitter| splitter.words == words);
        found.ok_or_else(|| Error::tokenizer("bpe", message!("no such words")))
    }

    /// All words of a text, one after the other.
    pub(super) fn words<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let (mut start, mut limit) = (0, 0);
        let line_break = |c: char| self.words.joins_line_breaks() && matches!(c, '\r' | '\n');
        std::iter::from_fn(move || {
            if start == limit {
                limit += self.stretch(&text[start..]);
            }
            let text = &text[..limit];
            let found = self.pattern.find_at(text, start)?;
            let mut end = found.end();
            let mut chars = found.as_str().chars();
            let space = |c: char| c.is_whitespace() && !line_break(c);
            if end < text.len() && chars.clone().all(space) {
                // \s+(?!\S), or \s+ when there is one character only; a run of line breaks is
                // another alternative's
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

    /// The length of what is cut by itself: everything; or a digit, and what is between digits.
    fn stretch(&self, text: &str) -> usize {
        let first = text.chars().next();
        match (self.words, first) {
            (Words::Gpt2Digits, Some(c)) if c.is_numeric() => c.len_utf8(),
            (Words::Gpt2Digits, _) => text.find(char::is_numeric).unwrap_or(text.len()),
            _ => text.len(),
        }
    }
}

/// Cuts any bytes where a word ends in every case, into pieces of some size: the words of the text
/// are those of its pieces.
///
/// Such a place is in front of ASCII white space that follows a character which is not: only the
/// first character of a word can be white space if not all are, and what follows a word decides
/// nothing about it unless it ends in white space. Where signs take the line breaks behind them, it
/// is not in front of these but behind them.
pub(super) fn pieces(text: &[u8], words: Words) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at(cut(rest, PIECE, words).unwrap_or(rest.len()));
        rest = after;
        Some(piece)
    })
}

/// The first such place at `from` or later.
pub(super) fn cut(text: &[u8], from: usize, words: Words) -> Option<usize> {
    let places = from.max(1)..text.len();
    places.into_iter().find(|&i| is_cut(text, i, words))
}

/// The last place where a word ends in every case: the words of the text are those of the two
/// parts. For texts that are read part by part.
pub(super) fn last_cut(text: &[u8], words: Words) -> Option<usize> {
    (1..text.len()).rev().find(|&i| is_cut(text, i, words))
}

fn is_cut(text: &[u8], i: usize, words: Words) -> bool {
    let line_break = |b: u8| matches!(b, b'\r' | b'\n');
    match words.joins_line_breaks() {
        false => is_space(text[i]) && ends_a_word(&text[..i]),
        true if line_break(text[i - 1]) => begins_a_word(&text[i..]),
        true => is_space(text[i]) && !line_break(text[i]) && ends_a_word(&text[..i]),
    }
}

/// Whether the first character of the text is not white space. A byte that is no text may be part
/// of one.
fn begins_a_word(text: &[u8]) -> bool {
    let first = text[..text.len().min(4)].utf8_chunks().next();
    first.and_then(|chunk| chunk.valid().chars().next()).is_some_and(|c| !c.is_whitespace())
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t'..=b'\r')
}

/// Whether the last character of the text is not white space; a byte that is no text is not.
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
    use tokenizers::pre_tokenizers::PreTokenizerWrapper;
    use tokenizers::{OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer};

    /// Characters that the pattern tells apart, and their neighbours.
    pub(in super::super) const AWKWARD: &str = "( {1,9}|\n{1,3}|\r\n|\t|\u{a0}|\u{3000}|\u{2028}|\u{85}|'|'s|'ll|'RE|a|Zé|猫|é|e\u{301}|١|5|²|Ⅷ|🐈\u{200d}⬛|\\.|_|\u{0}|\u{ad}|\\PC){0,40}";

    fn library(text: &str, words: Words) -> Vec<String> {
        static KINDS: LazyLock<[PreTokenizerWrapper; 4]> = LazyLock::new(|| {
            Words::ALL.map(|words| serde_json::from_value(words.pre_tokenizer()).unwrap())
        });
        let mut cut = PreTokenizedString::from(text);
        KINDS[words as usize].pre_tokenize(&mut cut).unwrap();
        let splits = cut.get_splits(OffsetReferential::Original, OffsetType::Byte);
        splits.into_iter().map(|(_, (from, to), _)| text[from..to].to_string()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn words_are_the_library_s(text in AWKWARD) {
            for kind in Words::ALL {
                let words: Vec<&str> = Splitter::get(kind).unwrap().words(&text).collect();
                prop_assert_eq!(words, library(&text, kind));
            }
        }

        #[test]
        fn cuts_part_no_word(text in AWKWARD, junk in proptest::collection::vec(any::<u8>(), 0..9), at in 0usize..60) {
            let text = [text.as_bytes(), &junk, text.as_bytes()].concat();
            for kind in Words::ALL {
            let splitter = Splitter::get(kind).unwrap();
            let words = |text: &[u8]| -> Vec<Vec<u8>> {
                let mut words = Vec::new();
                for chunk in text.utf8_chunks() {
                    words.extend(splitter.words(chunk.valid()).map(|w| w.as_bytes().to_vec()));
                    words.extend(chunk.invalid().iter().map(|b| vec![*b]));
                }
                words
            };
            for place in [cut(&text, at, kind), last_cut(&text, kind)].into_iter().flatten() {
                let (before, after) = text.split_at(place);
                prop_assert_eq!([words(before), words(after)].concat(), words(&text));
            }
            }
        }
    }

    #[test]
    fn long_runs_are_one_word() {
        let splitter = Splitter::get(Words::Gpt2).unwrap();
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
        let all: Vec<&[u8]> = pieces(text.as_bytes(), Words::Gpt2).collect();
        assert!(all.len() > 3 && all.concat() == text.as_bytes());
        assert!(all[..all.len() - 1].iter().all(|p| p.len() < PIECE + 20));
        assert_eq!(pieces(&[b'a'; 2 * PIECE], Words::Gpt2).count(), 1);
        assert_eq!(pieces(b"", Words::Gpt2).count(), 0);
    }
}
