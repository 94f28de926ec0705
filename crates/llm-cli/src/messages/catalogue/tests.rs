//! The pairs say the same, and lines are found among them.

use super::*;
use llm_messages::columns::width;
use llm_messages::{Pair, Phrase};
use std::collections::BTreeSet;
use toml::Table;

/// Flags and numbers of a text, in order of their letters.
fn facts(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let words = text.split(|c| !is_part(c)).map(|word| word.trim_matches(['.', '_']));
    let fact = |word: &str| match word.starts_with(|c: char| c.is_ascii_digit()) {
        true => Some(word.split(|c: char| c.is_ascii_alphabetic()).next()?.into()),
        false => (word.starts_with("--") && word.len() > 2).then(|| word.to_string()),
    };
    let mut facts: Vec<String> = words.filter_map(fact).collect();
    facts.sort();
    facts
}

/// A text with this in its places.
fn with(text: &str, place: &str) -> String {
    let parts = text.split('{').enumerate();
    let part = |(i, part): (usize, &str)| match part.split_once('}') {
        Some((_, after)) if i > 0 => format!("{place}{after}"),
        _ => part.to_string(),
    };
    parts.map(part).collect()
}

#[test]
fn every_file_is_read() {
    for file in FILES {
        let table: Table = file.parse().unwrap();
        assert!(!table.is_empty());
    }
    let keys: BTreeSet<&str> = CATALOGUE.pairs().iter().map(|pair| pair.en.as_str()).collect();
    assert_eq!(keys.len(), CATALOGUE.pairs().len(), "a line is there twice");
    assert!(keys.len() > 900, "{}", keys.len());
}

#[test]
fn both_languages_have_the_same_places_flags_and_numbers() {
    for pair in CATALOGUE.pairs().iter() {
        let Pair { en, zh, pieces, phrases, .. } = pair;
        for phrase in phrases {
            let Phrase::Place { at, .. } = phrase else { continue };
            assert!(at + 1 < pieces.len(), "{en:?}: no place {} in English", at + 1);
        }
        let words = phrases.iter().filter_map(|phrase| match phrase {
            Phrase::Text(text) => Some(text),
            Phrase::Place { .. } => None,
        });
        for text in words {
            let digit = |part: &str| part.starts_with(|next: char| next.is_ascii_digit());
            let left = text.split('{').skip(1).any(digit);
            assert!(!left, "{en:?}: no place: {text:?} (they are counted from 1)");
        }
        assert_eq!(facts(&with(en, " ")), facts(&with(zh, " ")), "{en:?}: {zh:?}");
        assert!(!en.starts_with(' ') && !en.is_empty(), "{en:?}");
    }
}

/// Begin and end of what stands between two spaces or more.
fn cells(line: &str) -> Vec<(usize, usize)> {
    let (mut cells, mut at) = (Vec::new(), 0);
    for cell in line.split("  ") {
        let begin = at + width(cell) - width(cell.trim_start());
        if !cell.trim().is_empty() {
            cells.push((begin, at + width(cell.trim_end())));
        }
        at += width(cell) + 2;
    }
    cells
}

#[test]
fn columns_stand_where_they_stand_in_english() {
    let bars = |pair: &&Pair| !pair.en.starts_with("{spinner}");
    for Pair { en, zh, .. } in CATALOGUE.pairs().iter().filter(bars) {
        // What comes behind a place may be anywhere.
        let fixed = |text: &str| text.split('{').next().unwrap_or_default().to_string();
        let (ours, theirs) = (cells(&fixed(zh)), cells(&fixed(en)));
        let numbers = [zh, en].map(|text| cells(&with(text, "7")).len());
        assert!(!en.contains("  ") || numbers[0] == numbers[1], "{en:?}: {zh:?}");
        for ((begin, end), (left, right)) in ours.into_iter().zip(theirs) {
            let is_last = right == width(fixed(en).trim_end());
            assert!(begin == left || end == right || is_last, "{en:?}: {zh:?}");
        }
    }
}

#[test]
fn lines_become_chinese() {
    for (en, zh) in [
        (
            "error: cannot read 'no file': no such file or directory",
            "错误：无法读取 'no file'：没有这个文件或目录",
        ),
        ("  layer 3", "  第 3 层"),
        (
            "runs    8 of 2 steps of 2 × 16 · lr 0.006, in the first run",
            "训练    共 8 次，每次 2 步，每步 2 × 16 · 学习率 0.006，指第一次训练",
        ),
        ("about 1 h 3 min for the other 5", "其余 5 次约需 1 小时 3 分"),
        (
            "error: --lr: -1 is not a finite number of 0 or more; see train-gpt --help",
            "错误：--lr：-1 不是 0 或更大的有限数；参见 train-gpt --help",
        ),
        // A file may be called like something of ours.
        (
            "error: 'all' is in use by another run; wait for it, or choose another --save or --out",
            "错误：'all' 正被另一次训练使用；请等它结束，或换一个 --save 或 --out",
        ),
        ("wrote   tokens", "已写入  tokens"),
        ("[0.5, 0.25]: something new; no file", "[0.5, 0.25]: something new; no file"),
    ] {
        assert_eq!(chinese(en).unwrap_or_else(|| en.into()), zh);
    }
}
