//! Chinese for what is written in English: pairs of sentences with places to be filled in, in the
//! files of `zh/`.
//!
//! A line is found by its finished English text, at the one place where it is printed; whatever made
//! it knows no language. So this is presentation alone, and what the catalogue does not have stays
//! English. A test reads the sources and sees to it that it has everything.
//!
//! In English `{}` is a place. In Chinese `{}` puts there what was found, `{:zh}` puts it there in
//! Chinese too; `{2}` and `{2:zh}` are the second place wherever it is needed.

use std::sync::LazyLock;
use toml::{Table, Value};

/// The files; the last has what is not found in this project's sources as it stands.
const FILES: [&str; 5] = [
    include_str!("zh/help.toml"),
    include_str!("zh/lines.toml"),
    include_str!("zh/errors.toml"),
    include_str!("zh/libraries.toml"),
    include_str!("zh/foreign.toml"),
];

/// Where a line falls into parts that mean something by themselves, and what stands there in
/// Chinese.
const JOINTS: [(&str, &str); 3] = [("; ", "；"), (": ", "："), (", ", "，")];

/// A pair that begins with a place needs so many letters to be more than `{} of {}`.
const LITTLE: usize = 12;

/// Parts of a line at most: all ways to join them are tried, which is slow where there are many.
const MOST_PARTS: usize = 40;

/// A pair.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) en: String,
    #[cfg(test)]
    zh: String,
    /// English between the places.
    pieces: Vec<String>,
    phrases: Vec<Phrase>,
    /// Letters that are given: of several pairs that fit, the one with the most is meant.
    weight: usize,
}

/// What a Chinese text consists of.
#[derive(Debug, PartialEq)]
enum Phrase {
    Text(String),
    /// What stood in a place; `said`: in Chinese.
    Place {
        at: usize,
        said: bool,
    },
}

/// All pairs, in the order of the files.
pub(super) static PAIRS: LazyLock<Vec<Pair>> = LazyLock::new(|| {
    let tables = FILES.iter().flat_map(|text| text.parse::<Table>().unwrap_or_default());
    tables.flat_map(|(key, value)| pairs(key, value)).collect()
});

/// A pair, or those of a section.
fn pairs(key: String, value: Value) -> Vec<Pair> {
    match value {
        Value::String(zh) => vec![Pair::new(&key, &zh)],
        Value::Table(section) => {
            section.into_iter().flat_map(|(key, value)| pairs(key, value)).collect()
        }
        _ => Vec::new(),
    }
}

/// A text in Chinese, and how many letters of the English were known.
struct Said {
    text: String,
    known: usize,
}

/// The line in Chinese; `None`: nothing of it is known.
pub(crate) fn chinese(line: &str) -> Option<String> {
    with_indent(line).map(|said| said.text)
}

fn with_indent(line: &str) -> Option<Said> {
    let text = line.trim_start();
    let indent = &line[..line.len() - text.len()];
    said(text).map(|said| Said { text: format!("{indent}{}", said.text), known: said.known })
}

/// Of all ways to cut the text at joints into sentences, the one of which most is known.
fn said(text: &str) -> Option<Said> {
    if !text.contains(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let joint_at = |at: usize| JOINTS.iter().find(|(joint, _)| text[at..].starts_with(joint));
    let joints = text.char_indices().filter_map(|(at, _)| Some((at, joint_at(at)?)));
    let mut cuts: Vec<(usize, usize, &str)> =
        joints.map(|(at, (joint, zh))| (at, at + joint.len(), *zh)).collect();
    cuts.push((text.len(), text.len(), ""));
    if cuts.len() > MOST_PARTS {
        return sentence(text);
    }
    // From the last part on: what the text says from each part to its end.
    let mut rest = vec![Said { text: String::new(), known: 0 }];
    for first in (0..cuts.len()).rev() {
        let begin = first.checked_sub(1).map_or(0, |before| cuts[before].1);
        let joined = |part: Said, last: usize| {
            let then = &rest[cuts.len() - 1 - last];
            let text = format!("{}{}{}", part.text, cuts[last].2, then.text);
            Said { text, known: part.known + then.known }
        };
        let whole =
            |last: usize| sentence(&text[begin..cuts[last].0]).map(|part| joined(part, last));
        let raw = Said { text: text[begin..cuts[first].0].into(), known: 0 };
        let ways = (first..cuts.len()).filter_map(whole);
        let best = ways.fold(joined(raw, first), |a, b| if b.known > a.known { b } else { a });
        rest.push(best);
    }
    rest.pop().filter(|said| said.known > 0)
}

/// What the best pair for a sentence makes of it.
fn sentence(text: &str) -> Option<Said> {
    let found = PAIRS.iter().filter_map(|pair| pair.said(&pair.places(text)?));
    found.reduce(|a, b| if b.known > a.known { b } else { a })
}

impl Pair {
    fn new(en: &str, zh: &str) -> Pair {
        let pieces: Vec<String> = en.split("{}").map(String::from).collect();
        let weight = pieces.iter().map(|piece| piece.chars().count()).sum();
        Pair {
            en: en.into(),
            #[cfg(test)]
            zh: zh.into(),
            pieces,
            phrases: phrases(zh),
            weight,
        }
    }

    /// What stands in the places of a line that this pair is about.
    fn places<'a>(&self, line: &'a str) -> Option<Vec<&'a str>> {
        let (first, rest) = self.pieces.split_first()?;
        let mut left = line.strip_prefix(first.as_str())?;
        let Some((last, middle)) = rest.split_last() else {
            return left.is_empty().then(Vec::new);
        };
        let mut places = Vec::new();
        for piece in middle {
            let (place, after) = left.split_once(piece.as_str())?;
            places.push(place);
            left = after;
        }
        places.push(left.strip_suffix(last.as_str())?);
        Some(places)
    }

    /// The Chinese with what was found in the places, unless that is part of another sentence: a
    /// name or a number has no joint, unless in quotes, and where there is little besides it no
    /// space.
    fn said(&self, places: &[&str]) -> Option<Said> {
        let is_little = self.weight < LITTLE && self.pieces.first().is_some_and(String::is_empty);
        let (mut text, mut known) = (String::new(), self.weight);
        for phrase in &self.phrases {
            let (at, said_too) = match phrase {
                Phrase::Text(own) => {
                    text.push_str(own);
                    continue;
                }
                Phrase::Place { at, said } => (*at, *said),
            };
            let place = places.get(at).copied().unwrap_or_default();
            let is_quoted = self.pieces.get(at).is_some_and(|piece| piece.ends_with('\''));
            let has_joint = place.contains("; ") || place.contains(": ");
            if !said_too && (is_little && place.contains(' ') || has_joint && !is_quoted) {
                return None;
            }
            let in_chinese = if said_too { with_indent(place) } else { None };
            known += in_chinese.as_ref().map_or(0, |said| said.known);
            text.push_str(in_chinese.as_ref().map_or(place, |said| &said.text));
        }
        Some(Said { text, known })
    }
}

/// `在 {} 行` in its parts.
fn phrases(zh: &str) -> Vec<Phrase> {
    let (mut phrases, mut rest, mut next) = (Vec::new(), zh, 0);
    let mut text = String::new();
    while let Some((before, inside, after)) = rest.split_once('{').and_then(|(before, open)| {
        let (inside, after) = open.split_once('}')?;
        Some((before, inside, after))
    }) {
        let (number, said) = match inside.strip_suffix(":zh") {
            Some(number) => (number, true),
            None => (inside, false),
        };
        let at = if number.is_empty() { Some(next) } else { place(number) };
        let Some(at) = at else {
            // A brace that is one.
            text.push_str(&rest[..before.len() + 1]);
            rest = &rest[before.len() + 1..];
            continue;
        };
        text.push_str(before);
        phrases.push(Phrase::Text(std::mem::take(&mut text)));
        phrases.push(Phrase::Place { at, said });
        (rest, next) = (after, at + 1);
    }
    text.push_str(rest);
    phrases.push(Phrase::Text(text));
    phrases.retain(|phrase| *phrase != Phrase::Text(String::new()));
    phrases
}

/// Places are counted from 1.
fn place(number: &str) -> Option<usize> {
    number.parse::<usize>().ok()?.checked_sub(1)
}

#[cfg(test)]
mod tests;
