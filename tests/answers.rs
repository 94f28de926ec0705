//! Answers on the pages: what a program prints for the command above them.
//!
//! ````text
//! ```sh
//! cargo run -p train-gpt -- trace --query 2 --key 1
//! ```
//!
//! <!-- answer -->
//! ```text
//! lines that the program prints, in their order
//! ```
//! ````

use crate::cli_support::Sandbox;
use crate::workspace;
use std::path::{Path, PathBuf};

/// Lines that a page says a program prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Page and line.
    pub place: String,
    /// `train-gpt` or `train-gpt-mha`.
    pub program: String,
    /// Arguments behind the program.
    pub words: Vec<String>,
    /// Some of its lines.
    pub lines: Vec<String>,
}

/// The answers of a page.
///
/// # Panics
/// Naming a mark that has no command before it or no block behind it.
pub fn answers(name: &str, page: &str) -> Vec<Answer> {
    let lines: Vec<&str> = page.lines().collect();
    let mut found = Vec::new();
    let mut command = None;
    for (i, line) in lines.iter().enumerate() {
        command = line.strip_prefix("cargo run -p ").or(command);
        if *line != "<!-- answer -->" {
            continue;
        }
        let place = format!("{name}:{}", i + 1);
        let (program, words) = command
            .take()
            .and_then(|c| c.split_once(" -- "))
            .unwrap_or_else(|| panic!("{place}: no command before the answer"));
        assert_eq!(lines.get(i + 1), Some(&"```text"), "{place}: no block after the mark");
        let body = lines[i + 2..].iter().take_while(|l| **l != "```");
        found.push(Answer {
            place,
            program: program.trim_end_matches(" --release").into(),
            words: words.split_whitespace().map(String::from).collect(),
            lines: body.map(|l| spaced(l)).collect(),
        });
    }
    found
}

/// Every answer of every page in docs/.
pub fn all_answers() -> Vec<Answer> {
    let mut open = vec![workspace().join("docs")];
    let mut pages: Vec<PathBuf> = Vec::new();
    while let Some(folder) = open.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() { open.push(path) } else { pages.push(path) }
        }
    }
    pages.retain(|path| path.extension().is_some_and(|e| e == "md"));
    pages.sort();
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    pages.iter().flat_map(|path| answers(&path.display().to_string(), &read(path))).collect()
}

/// What is wrong with an answer, given what was printed: a line that was not, or not in this order.
pub fn missing(answer: &Answer, printed: &str) -> Option<String> {
    let mut printed = printed.lines().map(spaced);
    let lost = answer.lines.iter().find(|line| !printed.any(|p| p == **line))?;
    Some(format!("{}: {:?} does not print, in this order, {lost:?}", answer.place, answer.words))
}

/// Runs every command of `program` that a page shows with an answer, and compares the lines.
pub fn check(sandbox: &Sandbox, program: &str) {
    let answers: Vec<Answer> =
        all_answers().into_iter().filter(|answer| answer.program == program).collect();
    assert!(answers.len() > 3, "{program}: the pages have {} answers", answers.len());
    let problems: Vec<String> = answers
        .iter()
        .filter_map(|answer| missing(answer, &sandbox.ok(&answer.words).text()))
        .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn spaced(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
