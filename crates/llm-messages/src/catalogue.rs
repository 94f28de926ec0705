//! Pairs of sentences with places to be filled in, and how a line is found among them.
//!
//! In English `{}` is a place. In Chinese `{}` puts there what was found, `{:zh}` puts it there in
//! Chinese too; `{2}` and `{2:zh}` are the second place wherever it is needed.

use llm_core::base::Language;
use toml::{Table, Value};

/// Where a line falls into parts that mean something by themselves, and what stands there in
/// Chinese.
const JOINTS: [(&str, &str); 3] = [("; ", "；"), (": ", "："), (", ", "，")];

/// A pair that begins with a place needs so many letters to be more than `{} of {}`.
const LITTLE: usize = 12;

/// Parts of a line at most: all ways to join them are tried, which is slow where there are many.
const MOST_PARTS: usize = 40;

/// A sentence in both languages.
#[derive(Debug)]
pub struct Pair {
    /// English, as it is written in the file.
    pub en: String,
    /// Chinese, the same.
    pub zh: String,
    /// English between the places.
    pub pieces: Vec<String>,
    /// The parts of the Chinese.
    pub phrases: Vec<Phrase>,
    /// Letters that are given: of several pairs that fit, the one with the most is meant.
    weight: usize,
    /// The number of its file.
    file: usize,
}

/// What a Chinese text consists of.
#[derive(Debug, PartialEq)]
pub enum Phrase {
    /// Words.
    Text(String),
    /// What stood in a place.
    Place {
        /// Its number, from 0.
        at: usize,
        /// In Chinese too.
        said: bool,
    },
}

/// Sentences in both languages.
#[derive(Debug)]
pub struct Catalogue {
    /// In the order of the files.
    pairs: Vec<Pair>,
    /// The same of those that no finished line is found by.
    templates: Vec<Pair>,
}

/// The section of pairs that no finished line is found by.
const TEMPLATES: &str = "templates";

/// Puts a pair, or those of a section, into the list.
fn put(key: String, value: Value, file: usize, into: &mut Vec<Pair>) {
    match value {
        Value::String(zh) => into.push(Pair::new(&key, &zh, file)),
        Value::Table(section) => {
            section.into_iter().for_each(|(key, value)| put(key, value, file, into));
        }
        _ => {}
    }
}

/// A text in Chinese, and how many letters of the English were known.
struct Said {
    text: String,
    known: usize,
}

impl Catalogue {
    /// What stands in these files, each a TOML table of pairs and sections of them. A file that is
    /// none has nothing. By what stands in a section `templates` no finished line is found.
    pub fn new(files: &[&str]) -> Catalogue {
        let mut all = Catalogue { pairs: Vec::new(), templates: Vec::new() };
        for (file, text) in files.iter().enumerate() {
            for (key, value) in text.parse::<Table>().unwrap_or_default() {
                let into = if key == TEMPLATES { &mut all.templates } else { &mut all.pairs };
                put(key, value, file, into);
            }
        }
        all
    }

    /// The Chinese of a template, whatever its places say about numbers: that of the first file which
    /// has it.
    pub fn translation(&self, template: &str) -> Option<&str> {
        let plain = without_specs(template);
        let all = self.templates.iter().chain(&self.pairs);
        let found = all.filter(|pair| pair.en == plain).min_by_key(|pair| pair.file);
        found.map(|pair| pair.zh.as_str())
    }

    /// The same among those that are looked up as they are alone.
    pub fn of_template(&self, template: &str) -> Option<&str> {
        let plain = without_specs(template);
        self.templates.iter().find(|pair| pair.en == plain).map(|pair| pair.zh.as_str())
    }

    /// All sentences that lines are found by, in the order of the files.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// All others, which are looked up as they are.
    pub fn templates(&self) -> &[Pair] {
        &self.templates
    }

    /// The line in Chinese; `None`: nothing of it is known.
    pub fn chinese(&self, line: &str) -> Option<String> {
        self.with_indent(line).map(|said| said.text)
    }

    fn with_indent(&self, line: &str) -> Option<Said> {
        let text = line.trim_start();
        let indent = &line[..line.len() - text.len()];
        let said = self.said(text)?;
        Some(Said { text: format!("{indent}{}", said.text), known: said.known })
    }

    /// Of all ways to cut the text at joints into sentences, the one of which most is known.
    fn said(&self, text: &str) -> Option<Said> {
        if !text.contains(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let joint_at = |at: usize| JOINTS.iter().find(|(joint, _)| text[at..].starts_with(joint));
        let joints = text.char_indices().filter_map(|(at, _)| Some((at, joint_at(at)?)));
        let mut cuts: Vec<(usize, usize, &str)> =
            joints.map(|(at, (joint, zh))| (at, at + joint.len(), *zh)).collect();
        cuts.push((text.len(), text.len(), ""));
        if cuts.len() > MOST_PARTS {
            return self.sentence(text);
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
            let whole = |last: usize| {
                self.sentence(&text[begin..cuts[last].0]).map(|part| joined(part, last))
            };
            let raw = Said { text: text[begin..cuts[first].0].into(), known: 0 };
            let ways = (first..cuts.len()).filter_map(whole);
            let best = ways.fold(joined(raw, first), |a, b| if b.known > a.known { b } else { a });
            rest.push(best);
        }
        rest.pop().filter(|said| said.known > 0)
    }

    /// What the best pair for a sentence makes of it.
    fn sentence(&self, text: &str) -> Option<Said> {
        let found = self.pairs.iter().filter_map(|pair| pair.said(self, &pair.places(text)?));
        found.reduce(|a, b| if b.known > a.known { b } else { a })
    }
}

impl Pair {
    fn new(en: &str, zh: &str, file: usize) -> Pair {
        let pieces: Vec<String> = en.split("{}").map(String::from).collect();
        let weight = pieces.iter().map(|piece| piece.chars().count()).sum();
        Pair { en: en.into(), zh: zh.into(), pieces, phrases: phrases(zh), weight, file }
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
    fn said(&self, all: &Catalogue, places: &[&str]) -> Option<Said> {
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
            let in_chinese = if said_too { all.with_indent(place) } else { None };
            known += in_chinese.as_ref().map_or(0, |said| said.known);
            text.push_str(in_chinese.as_ref().map_or(place, |said| &said.text));
        }
        Some(Said { text, known })
    }
}

/// Options have their names.
impl Language for Catalogue {
    fn translation(&self, template: &str) -> Option<&str> {
        self.translation(template)
    }

    fn option(&self, name: &str) -> String {
        name.into()
    }
}

/// `{:.4}` as `{}`.
fn without_specs(template: &str) -> String {
    let mut plain = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{:") {
        plain.push_str(before);
        plain.push_str("{}");
        rest = after.split_once('}').map_or("", |(_, rest)| rest);
    }
    plain + rest
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
mod tests {
    use super::*;

    #[test]
    fn places_may_change_theirs() {
        let all = Catalogue::new(&[
            r#""all" = "ALL""#,
            "[part]\n\"{} of {}, '{'\" = \"{2}: {1:zh}, '{'\"",
        ]);
        assert_eq!(all.pairs().len(), 2);
        let said = |line| {
            let pair = &all.pairs()[1];
            pair.said(&all, &pair.places(line)?).map(|said| said.text)
        };
        assert_eq!(said("all of it, '{'").unwrap(), "it: ALL, '{'");
        assert_eq!(said("all of it"), None);
        assert_eq!(all.chinese("  all").unwrap(), "  ALL");
        assert_eq!(all.chinese("nothing of that"), None);
        let templates = Catalogue::new(&["[templates.part]\n\"{} of it\" = \"{} OF\""]);
        assert_eq!(templates.translation("{:.2} of it"), Some("{} OF"));
        assert_eq!(templates.chinese("all of it"), None);
        assert_eq!((templates.pairs().len(), templates.templates().len()), (0, 1));
        let first = Catalogue::new(&["a = \"1\"", "a = \"2\"\n[templates]\na = \"3\"\nb = \"4\""]);
        assert_eq!((first.translation("a"), first.translation("b")), (Some("1"), Some("4")));
        let same = Catalogue::new(&["a = \"2\"\n[templates]\na = \"3\""]);
        assert_eq!(same.translation("a"), Some("3"));
    }
}
