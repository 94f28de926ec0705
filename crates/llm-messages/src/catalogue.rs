//! Translations: of templates, which are looked up as they are, and of words of others, which are found
//! by patterns.
//!
//! In a pattern `{}` is a place. In Chinese `{}` puts there what was found, `{:zh}` puts it there in
//! Chinese too; `{2}` and `{2:zh}` are the second place wherever it is needed.

use llm_core::base::Language;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};

/// A pattern that begins with a place needs this many letters to be more than `{} of {}`.
const LITTLE: usize = 12;

/// Pairs of English and Chinese, in sections for the reader of the file.
type Sections = BTreeMap<String, BTreeMap<String, String>>;

/// A file of translations.
#[derive(Default, Deserialize)]
#[serde(default)]
struct File {
    /// What is looked up as it is.
    templates: Sections,
    /// What is found in the words of others.
    patterns: Sections,
}

/// Translations of templates and words.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// Chinese by the English template.
    templates: HashMap<String, String>,
    /// What others write.
    patterns: Vec<Pattern>,
}

/// Words of others with places in them.
#[derive(Debug)]
struct Pattern {
    /// English between the places.
    pieces: Vec<String>,
    /// The parts of the Chinese.
    phrases: Vec<Phrase>,
    /// Letters that are given: of several patterns that fit, the one with the most is meant.
    weight: usize,
}

/// What a Chinese text consists of.
#[derive(Debug, PartialEq)]
enum Phrase {
    /// Words.
    Text(String),
    /// What stood in a place.
    Place {
        /// Number of the place, from 0.
        at: usize,
        /// In Chinese too.
        said: bool,
    },
}

impl Catalogue {
    /// What stands in these files, each a JSON object: `templates` and `patterns`, both in sections. Of a
    /// template that is there twice the first counts. An invalid file counts as empty.
    pub fn new(files: &[&str]) -> Catalogue {
        let mut all = Catalogue::default();
        for text in files {
            let file: File = serde_json::from_str(text).unwrap_or_default();
            for (en, zh) in file.templates.into_values().flatten() {
                all.templates.entry(en).or_insert(zh);
            }
            let patterns = file.patterns.into_values().flatten();
            all.patterns.extend(patterns.map(|(en, zh)| Pattern::new(&en, &zh)));
        }
        all
    }

    /// The Chinese of a template, whatever its places say about numbers.
    pub fn translation(&self, template: &str) -> Option<&str> {
        self.templates.get(&without_specs(template)).map(String::as_str)
    }

    /// Words of others in Chinese, by the pattern that gives the most of them.
    pub fn words(&self, text: &str) -> Option<String> {
        let fitting = self.patterns.iter().filter_map(|p| Some((p.weight, p.said(self, text)?)));
        fitting.reduce(|a, b| if b.0 > a.0 { b } else { a }).map(|(_, said)| said)
    }
}

impl Pattern {
    fn new(en: &str, zh: &str) -> Pattern {
        let pieces: Vec<String> = en.split("{}").map(String::from).collect();
        let weight = pieces.iter().map(|piece| piece.chars().count()).sum();
        Pattern { pieces, phrases: phrases(zh), weight }
    }

    /// What stands in the places of a text that fits.
    fn places<'a>(&self, text: &'a str) -> Option<Vec<&'a str>> {
        let (first, rest) = self.pieces.split_first()?;
        let mut left = text.strip_prefix(first.as_str())?;
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

    /// The Chinese of a text that fits, with what stands in its places. Where little stands next to
    /// a place, a name or a number stands in it, and no sentence.
    fn said(&self, all: &Catalogue, text: &str) -> Option<String> {
        let places = self.places(text)?;
        let is_little = self.weight < LITTLE && self.pieces.first().is_some_and(String::is_empty);
        let mut out = String::new();
        for phrase in &self.phrases {
            match phrase {
                Phrase::Text(own) => out.push_str(own),
                Phrase::Place { at, said } => {
                    let place = places.get(*at).copied().unwrap_or_default();
                    if !said && is_little && place.contains(' ') {
                        return None;
                    }
                    let in_chinese = if *said { all.words(place) } else { None };
                    out.push_str(in_chinese.as_deref().unwrap_or(place));
                }
            }
        }
        Some(out)
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
    let mut parts = template.split("{:");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |all, part| all + "{}" + part.split_once('}').map_or("", |(_, rest)| rest))
}

/// `在 {} 行` in its parts.
fn phrases(zh: &str) -> Vec<Phrase> {
    let mut parts = zh.split('{');
    let mut text = parts.next().unwrap_or_default().to_string();
    let (mut phrases, mut next) = (Vec::new(), 0);
    for part in parts {
        let Some((at, said, after)) = place(part, next) else {
            // A brace that is one.
            text = text + "{" + part;
            continue;
        };
        phrases.push(Phrase::Text(std::mem::replace(&mut text, after.into())));
        phrases.push(Phrase::Place { at, said });
        next = at + 1;
    }
    phrases.push(Phrase::Text(text));
    phrases.retain(|phrase| *phrase != Phrase::Text(String::new()));
    phrases
}

/// The place at the beginning of a text, behind its brace, whether it is in Chinese too, and what
/// follows it. Places are counted from 1; one without a number is the `next`.
fn place(text: &str, next: usize) -> Option<(usize, bool, &str)> {
    let (inside, after) = text.split_once('}')?;
    let number = inside.strip_suffix(":zh").unwrap_or(inside);
    let at = if number.is_empty() { next } else { number.parse::<usize>().ok()?.checked_sub(1)? };
    Some((at, inside != number, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_looked_up_and_words_are_found() {
        let all = Catalogue::new(&[
            r#"{"templates": {"part": {"{} of it": "{} OF", "a": "1"}}}"#,
            r#"{"templates": {"": {"a": "2"}},
                "patterns": {"": {"all": "ALL", "{} of {}, '{'": "{2}: {1:zh}, '{'"}}}"#,
            "no JSON",
        ]);
        assert_eq!(all.translation("{:.2} of it"), Some("{} OF"));
        assert_eq!((all.translation("a"), all.translation("all")), (Some("1"), None));
        let words = |text| all.words(text);
        assert_eq!(words("all of it, '{'").as_deref(), Some("it: ALL, '{'"));
        assert_eq!((words("all of it"), words("a")), (None, None));
        assert_eq!(all.templates.len(), 2);
    }
}
