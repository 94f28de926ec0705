//! The numbers in the pages are those that the code computes.
//!
//! `<!-- check: id -->` at the end of a line speaks about that line, alone on a line about the
//! block after it. There the numbers must be exactly the values of `id`, in order, to the
//! digits that are printed. Digits that are part of a name (`self_attention_1h`, `3C`) and
//! indices (`S[2,0]`) do not count; `check-all` counts indices too.
//!
//! In docs/ and in the workspace's own pages every number of 4 or more, and every decimal one, must be under such a mark; headings,
//! commands, code with a file or a test of its own, what an example or a program prints and flags excepted.

use super::names::is_path;
use super::pages::{Kind, Line, Page, Site};
use std::collections::{BTreeMap, BTreeSet};

/// A number as printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    pub text: String,
    pub value: f64,
}

impl Number {
    /// Is it `value`, to the digits that are printed? Values are single precision: they may be off
    /// by a few units of their own last place.
    fn shows(&self, value: f64) -> bool {
        let decimals = self.text.split_once('.').map_or(0, |(_, d)| d.len() as i32);
        let half = if decimals == 0 { 0.0 } else { 0.5 * 0.1f64.powi(decimals) };
        (self.value - value).abs() <= half + 5e-7 * value.abs().max(1.0)
    }
}

/// The numbers of a text, in order. `indices`: those in brackets behind a name too.
pub fn numbers(text: &str, indices: bool) -> Vec<Number> {
    let chars: Vec<char> = text.chars().collect();
    let at = |i: usize| chars.get(i).copied().unwrap_or(' ');
    let before = |i: usize| if i == 0 { ' ' } else { at(i - 1) };
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut i = 0;
    while i < chars.len() {
        let c = at(i);
        let index = c == '[' && (is_word(before(i)) || "}'".contains(before(i)));
        if index && !indices || c == '{' && before(i) == '_' {
            let close = if c == '[' { ']' } else { '}' };
            i += 1 + chars[i..].iter().position(|&c| c == close).unwrap_or(0);
            continue;
        }
        if !c.is_ascii_digit() {
            i += 1;
            continue;
        }
        let start = i;
        let mut text = String::new();
        let digit = |i: usize| at(i).is_ascii_digit();
        while digit(i) || at(i) == '.' && digit(i + 1) && !text.contains('.') {
            text.push(at(i));
            i += 1;
            let group = at(i) == ',' && (i + 1..i + 4).all(digit) && !digit(i + 4);
            i += usize::from(group);
        }
        if at(i) == 'e' && digit(i + 1) {
            text.push('e');
            i += 1;
            while digit(i) {
                text.push(at(i));
                i += 1;
            }
        }
        let in_a_name = is_word(before(start)) || at(i).is_ascii_alphabetic() || at(i) == '_';
        if in_a_name {
            while is_word(at(i)) {
                i += 1;
            }
            continue;
        }
        let two_back = if start < 2 { ' ' } else { at(start - 2) };
        let minus = "-−".contains(before(start)) && !is_word(two_back) && !")]".contains(two_back);
        if minus {
            text.insert(0, '-');
        }
        let value = text.parse().unwrap_or(f64::NAN);
        found.push(Number { text, value });
    }
    found
}

pub fn problems(site: &Site, values: &BTreeMap<&str, Vec<f64>>) -> Vec<String> {
    let mut found = Vec::new();
    let mut used = BTreeSet::new();
    for page in &site.pages {
        let mut covered = BTreeSet::new();
        for (i, line) in page.lines.iter().enumerate() {
            for (key, indices) in [("check", false), ("check-all", true)] {
                let Some(id) = line.mark(key) else { continue };
                used.insert(id.to_string());
                let one = std::slice::from_ref(line);
                let lines = if line.kind == Kind::Mark { page.block_after(i) } else { one };
                covered.extend(lines.iter().map(|l| l.number));
                found.extend(mismatch(page, line, lines, indices, id, values.get(id)));
            }
            if line.mark("prints").or(line.mark("answer")).is_some() {
                covered.extend(page.block_after(i).iter().map(|l| l.number));
            }
        }
        if !page.path.starts_with("exercises/") {
            found.extend(page.lines.iter().filter(|l| !covered.contains(&l.number)).flat_map(
                |l| {
                    let bare =
                        unchecked(l).map(|n| page.at(l, format!("nothing checks {}", n.text)));
                    bare.collect::<Vec<_>>()
                },
            ));
        }
    }
    let unused = values.keys().filter(|id| !used.contains(**id));
    found.extend(unused.map(|id| format!("no page shows the value {id}")));
    found
}

fn mismatch(
    page: &Page,
    mark: &Line,
    lines: &[Line],
    indices: bool,
    id: &str,
    values: Option<&Vec<f64>>,
) -> Option<String> {
    let Some(values) = values else { return Some(page.at(mark, format!("unknown check {id}"))) };
    let text: Vec<String> = lines.iter().map(shown).collect();
    let printed = numbers(&text.join("\n"), indices);
    if printed.len() != values.len() {
        let texts: Vec<_> = printed.iter().map(|n| n.text.as_str()).collect();
        let count = format!("{} numbers, not {}", printed.len(), values.len());
        return Some(page.at(mark, format!("{id}: {count}: {texts:?} for {values:?}")));
    }
    let (number, value) = printed.iter().zip(values).find(|(n, v)| !n.shows(**v))?;
    Some(page.at(mark, format!("{id}: {} where the code computes {value}", number.text)))
}

/// A line without comments, link targets, paths, flags, and the number of a list's item.
fn shown(line: &Line) -> String {
    let mut text = line.visible();
    let item = text.split_once(". ").filter(|(n, _)| n.parse::<u32>().is_ok());
    if let (Kind::Text, Some((_, rest))) = (&line.kind, item) {
        text = rest.to_string();
    }
    for target in line.links() {
        text = text.replace(&format!("]({target})"), "]");
    }
    for span in line.code_spans() {
        if is_path(&span) || span.starts_with("--") || span.starts_with("cargo ") {
            text = text.replace(&format!("`{span}`"), "");
        }
    }
    text
}

/// Numbers that should be under a mark.
fn unchecked(line: &Line) -> impl Iterator<Item = Number> {
    let exempt = match &line.kind {
        Kind::Heading(_) | Kind::Mark => true,
        Kind::Code(language) => ["rust", "sh", "python"].contains(&language.as_str()),
        Kind::Text => line.text.starts_with("<img "), // the width of a picture
        _ => false,
    };
    let found = if exempt { Vec::new() } else { numbers(&shown(line), true) };
    found.into_iter().filter(|n| n.value.abs() >= 4.0 || n.text.contains('.'))
}
