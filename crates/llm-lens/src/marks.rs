//! The kinds of the places of a window, seen from each query.

use crate::roles::N;
use llm_core::TokenId;
use llm_core::tokenizer::{ByteTokenizer, CharTokenizer, Tokenizer};
use std::collections::HashMap;
use std::ops::Range;

/// A stretch of text, for looking at what the model does there.
#[derive(Clone, Debug, Default)]
pub struct Piece<'a> {
    /// `[T + 1]`: T inputs and the token after them.
    pub tokens: Vec<TokenId>,
    /// What is known about the text, if anything is.
    pub known: Option<KnownText<'a>>,
}

/// A text some of whose words follow from what stands before them, such as the built-in stories.
#[derive(Clone, Debug)]
pub struct KnownText<'a> {
    /// The text that the tokens are the beginning of.
    pub text: &'a str,
    /// The words that follow from the text, as ranges of its bytes.
    pub words: Vec<Range<usize>>,
}

/// Places of each kind, for every query but the first, which has no choice.
///
/// For query i and key j ≤ i, with tokens x and their successor known:
///
/// | kind | places |
/// |---|---|
/// | previous | j = i − 1 |
/// | first | j = 0 |
/// | itself | j = i |
/// | word | j < i lies in the word that i lies in |
/// | same | j lies in an earlier occurrence of the word that i lies in; where a token is no part of a word but a word or more, an earlier equal token |
/// | after | x[j − 1] = x[i], j ≥ 1: what followed the token before |
/// | copy | x[j] = x[i + 1]: the token that comes next |
/// | separator | x[j] is spaces, punctuation or line ends and nothing else |
/// | answer | where i must tell a word that is known to follow from the text: j lies in an earlier mention of that word |
pub(crate) struct Marks {
    /// T.
    pub(crate) len: usize,
    /// `[T, T]`: bit r of entry i, j says whether j is of kind r for i.
    bits: Vec<u16>,
    /// `[T]`: how many places of each kind query i has.
    counts: Vec<[u32; N]>,
}

impl Marks {
    /// The marks of the T inputs of a piece.
    pub(crate) fn new(piece: &Piece<'_>, tokenizer: &dyn Tokenizer) -> Marks {
        let x = &piece.tokens;
        let len = x.len().saturating_sub(1);
        let spans = spans(x, tokenizer);
        let words = words(x, &spans, tokenizer);
        let separators: Vec<bool> =
            x.iter().map(|&token| is_separator(tokenizer.bytes_of(token))).collect();
        let answers = answers(piece, &spans);
        let mut marks = Marks { len, bits: vec![0; len * len], counts: vec![[0; N]; len] };
        for i in 1..len {
            let answer = answers.get(&i);
            for j in 0..=i {
                // An earlier occurrence of the word, or this one.
                let both = words[i].zip(words[j]);
                let same =
                    both.is_some_and(|(mine, w)| w.word == mine.word && w.place < mine.place);
                let own = both.is_some_and(|(mine, w)| w.place == mine.place);
                let is = [
                    j + 1 == i,
                    j == 0,
                    j == i,
                    own && j < i,
                    same,
                    j > 0 && x[j - 1] == x[i],
                    x[j] == x[i + 1],
                    separators[j],
                    answer.is_some_and(|places| places.iter().any(|place| place.contains(&j))),
                ];
                for (r, is) in is.into_iter().enumerate() {
                    marks.bits[i * len + j] |= u16::from(is) << r;
                    marks.counts[i][r] += u32::from(is);
                }
            }
        }
        marks
    }

    /// For query i: the kinds of each key `0..=i`.
    pub(crate) fn row(&self, i: usize) -> &[u16] {
        &self.bits[i * self.len..i * self.len + i + 1]
    }

    /// How many places of each kind query i has.
    pub(crate) fn counts(&self, i: usize) -> &[u32; N] {
        &self.counts[i]
    }
}

/// The bytes that each token stands for.
fn spans(tokens: &[TokenId], tokenizer: &dyn Tokenizer) -> Vec<Range<usize>> {
    let mut end = 0;
    let span = |&token: &TokenId| {
        let start = end;
        end += tokenizer.bytes_of(token).len();
        start..end
    };
    tokens.iter().map(span).collect()
}

/// What a token is a part of: which word, and at which of its occurrences.
#[derive(Clone, Copy)]
struct Part {
    word: usize,
    place: usize,
}

/// The word of each token; none for what is no part of one.
fn words(tokens: &[TokenId], spans: &[Range<usize>], cut: &dyn Tokenizer) -> Vec<Option<Part>> {
    if ![ByteTokenizer::NAME, CharTokenizer::NAME].contains(&cut.name()) {
        let whole = |(place, &token): (usize, &TokenId)| {
            let is_word = !is_separator(cut.bytes_of(token));
            is_word.then_some(Part { word: token as usize, place })
        };
        return tokens.iter().enumerate().map(whole).collect();
    }
    let text: Vec<u8> = tokens.iter().flat_map(|&t| cut.bytes_of(t)).copied().collect();
    let mut known: HashMap<&[u8], usize> = HashMap::new();
    let mut parts = vec![None; tokens.len()];
    for range in word_ranges(&text) {
        let next = known.len();
        let word = *known.entry(&text[range.clone()]).or_insert(next);
        let first = spans.partition_point(|span| span.end <= range.start);
        for (part, span) in parts.iter_mut().zip(spans).skip(first) {
            if span.start >= range.end {
                break;
            }
            *part = Some(Part { word, place: range.start });
        }
    }
    parts
}

/// Where the words are: runs of letters and digits; a character of a script that puts no spaces
/// between words is one by itself.
fn word_ranges(text: &[u8]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let (mut at, mut open) = (0, false);
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            let range = at..at + c.len_utf8();
            at = range.end;
            let alone = c >= '\u{2E80}';
            match ranges.last_mut().filter(|_| open && !alone) {
                _ if !c.is_alphanumeric() => {}
                Some(last) => last.end = range.end,
                None => ranges.push(range),
            }
            open = c.is_alphanumeric() && !alone;
        }
        at += chunk.invalid().len();
        open &= chunk.invalid().is_empty();
    }
    ranges
}

/// Whether there is something, and neither letter nor digit nor a part of a character.
fn is_separator(bytes: &[u8]) -> bool {
    let text = std::str::from_utf8(bytes);
    !bytes.is_empty() && text.is_ok_and(|text| !text.chars().any(char::is_alphanumeric))
}

/// For each query that has to begin a word that is known to follow: the tokens of the word's earlier
/// mentions.
fn answers(piece: &Piece<'_>, spans: &[Range<usize>]) -> HashMap<usize, Vec<Range<usize>>> {
    let mut answers = HashMap::new();
    let Some(KnownText { text, words: told_words }) = &piece.known else { return answers };
    let words = word_ranges(text.as_bytes());
    for told_word in told_words {
        let Some(word) = text.get(told_word.clone()) else { continue };
        // The token that holds the word's first byte is what the query before it tells.
        let told = spans.partition_point(|span| span.end <= told_word.start);
        let Some(query) = told.checked_sub(1).filter(|_| told < spans.len()) else { continue };
        let earlier = words.iter().filter(|range| range.end <= told_word.start);
        let mentions = earlier.filter(|range| &text[(*range).clone()] == word);
        let tokens = mentions.map(|range| {
            let first = spans.partition_point(|span| span.end <= range.start);
            first..spans.partition_point(|span| span.start < range.end)
        });
        let tokens: Vec<_> = tokens.collect();
        if !tokens.is_empty() {
            answers.insert(query, tokens);
        }
    }
    answers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Role;
    use llm_core::tokenizer::IdsTokenizer;
    use llm_stories::story;

    fn marks(text: &[u8]) -> Marks {
        let tokens = text.iter().map(|&b| b.into()).collect();
        Marks::new(&Piece { tokens, known: None }, &ByteTokenizer)
    }

    /// The places of a kind that query i has.
    fn places(marks: &Marks, role: &str, i: usize) -> Vec<usize> {
        let r = Role::ALL.iter().position(|r| r.name() == role).unwrap();
        let all = marks.row(i).iter().enumerate().filter(|(_, bits)| **bits >> r & 1 == 1);
        let all: Vec<_> = all.map(|(j, _)| j).collect();
        assert_eq!(all.len(), marks.counts(i)[r] as usize);
        all
    }

    #[test]
    fn kinds_of_places() {
        //                 0123456789012345
        let marks = marks(b"Al, Bo. Al is a.");
        assert_eq!(marks.len, 15);
        assert_eq!(places(&marks, "previous", 9), [8]);
        assert_eq!(places(&marks, "first", 9), [0]);
        assert_eq!(places(&marks, "itself", 9), [9]);
        assert_eq!(places(&marks, "word", 9), [8]);
        assert_eq!(places(&marks, "same", 9), [0, 1]); // not the letters of this Al
        assert!(places(&marks, "same", 5).is_empty());
        assert_eq!(places(&marks, "after", 8), [1]);
        assert_eq!(places(&marks, "copy", 8), [1]); // an l comes
        assert_eq!(places(&marks, "separator", 7), [2, 3, 6, 7]);
        assert!(places(&marks, "answer", 7).is_empty());
        assert!(places(&marks, "previous", 0).is_empty());
    }

    #[test]
    fn words_of_scripts_without_spaces_are_characters() {
        let words = |text: &str| -> Vec<String> {
            let ranges = word_ranges(text.as_bytes());
            ranges.into_iter().map(|r| text[r].to_string()).collect()
        };
        assert_eq!(words("naïve cat's 猫猫a1，x"), ["naïve", "cat", "s", "猫", "猫", "a1", "x"]);
        assert_eq!(word_ranges(b"a\xffb"), [0..1, 2..3]);
        assert!(is_separator("，\n".as_bytes()) && !is_separator(b"\xe7") && !is_separator(b""));
    }

    #[test]
    fn tokens_without_text_are_compared_as_they_are() {
        let ids = IdsTokenizer::new(9).unwrap();
        let piece = Piece { tokens: vec![5, 6, 5, 7, 5], known: None };
        let marks = Marks::new(&piece, &ids);
        assert_eq!(places(&marks, "same", 2), [0]);
        assert_eq!(places(&marks, "after", 2), [1]);
        assert!(places(&marks, "word", 2).is_empty());
        assert_eq!(places(&marks, "copy", 3), [0, 2]);
        assert!(places(&marks, "separator", 3).is_empty());
    }

    #[test]
    fn answers_are_earlier_mentions_of_the_word_that_comes() {
        let story = story(1, 5);
        let tokens = story.text.bytes().map(TokenId::from).collect();
        let words = story.facts.iter().map(|fact| fact.start..fact.end).collect();
        let known = Some(KnownText { text: &story.text, words });
        let marks = Marks::new(&Piece { tokens, known }, &ByteTokenizer);
        let mut seen = 0;
        for fact in &story.facts {
            let places = places(&marks, "answer", fact.start - 1);
            let word = &story.text[fact.start..fact.end];
            assert!(places.len().is_multiple_of(word.len()));
            for mention in places.chunks(word.len()) {
                assert_eq!(&story.text[mention[0]..mention[0] + word.len()], word);
                seen += 1;
            }
        }
        assert!(seen > 5, "{seen}");
    }
}
