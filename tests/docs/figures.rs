//! Figures: pages of both languages show each; one with words has a twin with Chinese words,
//! `NAME.zh-CN.svg`, which differs from it in words alone.

use super::pages::{Page, Site, files};
use std::collections::BTreeMap;

const FOLDER: &str = "docs/figures";
const CHINESE: &str = ".zh-CN.svg";

/// Words that are the same in both languages: names of functions and of arrays, a word of an example.
const NAMES: [&str; 4] = ["bites", "reshape", "softmax", "transpose"];

/// A figure whose texts are tokens of an English sentence.
const OF_A_SENTENCE: &str = "concept_map_of_words.zh-CN.svg";

/// The text of every figure by its file's name.
pub fn read(site: &Site) -> BTreeMap<String, String> {
    let paths = files(&site.root.join(FOLDER), &["svg"]).into_iter();
    let named = paths.filter_map(|path| {
        let name = path.file_name()?.to_str()?.to_string();
        Some((name, std::fs::read_to_string(path).ok()?))
    });
    named.collect()
}

pub fn problems(site: &Site, figures: &BTreeMap<String, String>) -> Vec<String> {
    let mut found = Vec::new();
    for (name, text) in figures {
        if let Some(stem) = name.strip_suffix(CHINESE) {
            match figures.get(&format!("{stem}.svg")) {
                Some(english) => found.extend(difference(name, english, text)),
                None => found.push(format!("{name}: there is no {stem}.svg")),
            }
            continue;
        }
        let twin = name.replace(".svg", CHINESE);
        let has_twin = figures.contains_key(&twin);
        if let Some(words) = words(text).into_iter().find(|_| !has_twin) {
            found.push(format!("{name}: {words:?}, and no {twin}"));
        }
        if !site.pages.iter().any(|p| !p.is_chinese() && shows(p, name)) {
            found.push(format!("{name}: no English page shows it"));
        }
        let chinese = if has_twin { &twin } else { name };
        let of_chinese = || site.pages.iter().filter(|p| p.is_chinese());
        if !of_chinese().any(|p| shows(p, chinese)) {
            found.push(format!("{chinese}: no Chinese page shows it"));
        }
        for page in of_chinese().filter(|p| has_twin && shows(p, name)) {
            found.push(format!("{}: shows {name}, and there is {twin}", page.path));
        }
    }
    found
}

fn shows(page: &Page, name: &str) -> bool {
    page.lines.iter().flat_map(|l| l.links()).any(|l| l.ends_with(&format!("/{name}")))
}

/// What stands in the titles and texts of a figure, and the rest of it.
fn parts(figure: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut texts, mut rest) = (Vec::new(), Vec::new());
    for (i, part) in figure.split(['<', '>']).enumerate() {
        if i % 2 == 0 { texts.push(part.trim()) } else { rest.push(part) }
    }
    texts.retain(|text| !text.is_empty());
    (texts, rest)
}

/// Texts of a figure with words of a language: four small letters in a row.
fn words(figure: &str) -> Vec<&str> {
    let mut texts = parts(figure).0;
    texts.retain(|text| {
        let latin = text.split(|c: char| !c.is_ascii_lowercase() && c != '_');
        let mut long = latin.filter(|word| word.len() >= 4 && !word.contains('_'));
        long.any(|word| !NAMES.contains(&word))
    });
    texts
}

/// The same drawing, the same numbers, no English words.
fn difference(name: &str, english: &str, chinese: &str) -> Option<String> {
    let ((texts, drawing), (twins, twin)) = (parts(english), parts(chinese));
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    if let Some((a, b)) = drawing.iter().skip(1).zip(twin.iter().skip(1)).find(|(a, b)| a != b) {
        return Some(format!("{name}: <{b}> where the English figure has <{a}>"));
    }
    if (drawing.len(), texts.len()) != (twin.len(), twins.len()) {
        return Some(format!("{name}: more or fewer parts than the English figure"));
    }
    let other = texts.iter().zip(&twins).find(|(a, b)| digits(a) != digits(b));
    let other = other.map(|(a, b)| format!("{name}: {b:?} has other numbers than {a:?}"));
    let mut english = words(chinese);
    english.retain(|text| name != OF_A_SENTENCE || !texts.contains(text));
    other.or_else(|| english.first().map(|word| format!("{name}: {word:?} is English")))
}
