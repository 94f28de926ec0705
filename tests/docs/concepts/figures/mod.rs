//! The figures of docs/concepts/, made from the numbers that the pages show.
//!
//! The test compares them with the files in docs/figures/; `tools/figures`, which sets FIGURES_INTO, has it write
//! them instead.

mod curves;
mod draw;
mod modern;
mod svg;
mod words;

use std::path::{Path, PathBuf};

/// English and Chinese, and how a file of each ends.
const LANGUAGES: [(usize, &str); 2] = [(0, "svg"), (1, "zh-CN.svg")];

/// What may differ: the last digit that is shown, where processors round differently.
const LAST_DIGIT: f64 = 0.0011;

/// Every figure with the name of its file.
fn all() -> Vec<(String, String)> {
    let one = |(language, ending): (usize, &'static str)| {
        draw::ALL
            .iter()
            .map(move |(name, draw)| (format!("concept_{name}.{ending}"), draw(language)))
    };
    LANGUAGES.into_iter().flat_map(one).collect()
}

/// The numbers of a picture, and everything else.
fn taken_apart(picture: &str) -> (Vec<f64>, String) {
    let mut numbers = Vec::new();
    let mut rest = String::new();
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    for part in picture.split_inclusive(|c| !is_digit(c)) {
        let digits = part.trim_end_matches(|c| !is_digit(c));
        numbers.extend(digits.parse::<f64>());
        rest.push_str(if digits.parse::<f64>().is_ok() { "#" } else { digits });
        rest.push_str(&part[digits.len()..]);
    }
    (numbers, rest)
}

/// What is wrong with a figure, if anything.
fn problem(drawn: &str, found: &str) -> Option<String> {
    let ((ours, our_rest), (theirs, their_rest)) = (taken_apart(drawn), taken_apart(found));
    if our_rest != their_rest {
        return Some("is another picture".into());
    }
    // A bar of 180 points is as long as its number says.
    let near = |(a, b): &(&f64, &f64)| (*a - *b).abs() <= LAST_DIGIT.max(2e-3 * a.abs());
    let (a, b) = ours.iter().zip(&theirs).find(|pair| !near(pair))?;
    Some(format!("shows {b} where the code computes {a}"))
}

fn folder() -> PathBuf {
    crate::docs::crate_root().join("docs/figures")
}

#[test]
fn figures_show_what_the_code_computes() {
    let into = std::env::var_os("FIGURES_INTO");
    for (name, drawn) in all() {
        if let Some(folder) = &into {
            std::fs::write(Path::new(folder).join(name), drawn).unwrap();
            continue;
        }
        let found = std::fs::read_to_string(folder().join(&name)).unwrap_or_default();
        let problem = problem(&drawn, &found);
        assert!(
            problem.is_none(),
            "docs/figures/{name} {}; tools/figures makes it",
            problem.unwrap()
        );
        assert!(drawn.len() < 60_000, "{name} is large: {}", drawn.len());
    }
}

/// The columns that docs/looking_inside.md sets beside the names of others exist, and grammar and meaning have none.
#[test]
fn names_of_others_are_columns() {
    use llm_lens::Role;
    let page =
        std::fs::read_to_string(crate::docs::crate_root().join("docs/looking_inside.md")).unwrap();
    let table = page.split("### The names of others").nth(1).expect("the heading");
    let rows: Vec<&str> = table.lines().filter(|l| l.starts_with("| ")).take(7).collect();
    let mut named = Vec::new();
    for row in &rows[1..] {
        let cell = row.split('|').nth(2).unwrap();
        let columns: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        let none = row.contains("grammar") || row.contains("meaning: ");
        assert_eq!(columns.is_empty(), none, "{row}");
        named.extend(columns);
    }
    let known: Vec<&str> = Role::ALL.into_iter().map(Role::name).collect();
    assert!(named.iter().all(|column| known.contains(column)), "{named:?} {known:?}");
    assert!(known.iter().all(|column| !["grammar", "meaning"].contains(column)));
}

#[test]
fn a_figure_with_another_number_or_word_is_found() {
    let (_, drawn) = all().swap_remove(0);
    assert_eq!(problem(&drawn, &drawn), None);
    let shown = drawn.lines().rev().find(|line| line.contains("0.787")).expect("a weight");
    for (planted, why) in [
        (shown.replace("0.787", "0.797"), "shows 0.797 where the code computes 0.787"),
        (shown.replace("0.787", "0.787x"), "is another picture"),
        (String::new(), "is another picture"),
    ] {
        assert_eq!(problem(&drawn, &drawn.replace(shown, &planted)).as_deref(), Some(why));
    }
    let near = drawn.replace("0.787", "0.788"); // a last digit
    assert_eq!(problem(&drawn, &near), None);
}
