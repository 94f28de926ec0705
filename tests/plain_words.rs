//! What documentation may say: statements in the words of the field, no riddles.

use crate::floors::crates;
use crate::literals::sources;

/// Words at which a reader stumbles, and what to write in their place.
const ODD: [(&str, &str); 4] = [
    ("nobody", "who it is: no other thread, no caller, no process"),
    ("so many", "n, or the name of the number"),
    (" is none", "invalid, empty, `None`"),
    ("possible are", "valid values:"),
];

/// The text of a line of documentation.
fn documentation(line: &str) -> Option<&str> {
    let line = line.trim();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
}

/// What is wrong with a line of documentation.
fn wrong(text: &str) -> Option<String> {
    if text.ends_with('?') {
        return Some("a question; \"Whether it is on.\" says the same".into());
    }
    let lower = text.to_lowercase();
    let odd = ODD.iter().find(|(word, _)| lower.contains(word));
    odd.map(|(word, better)| format!("\"{}\"; write {better}", word.trim()))
}

#[test]
fn documentation_speaks_plainly() {
    let mut problems = Vec::new();
    for krate in crates() {
        for (file, source) in sources(&krate.name) {
            let lines = (1..).zip(source.lines());
            let texts = lines.filter_map(|(at, line)| Some((at, documentation(line)?)));
            let found = texts.filter_map(|(at, text)| Some((at, wrong(text)?)));
            let place =
                |(at, why): (usize, String)| format!("{}/src/{file}:{at}: {why}", krate.name);
            problems.extend(found.map(place));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn odd_documentation_is_found() {
    let is_odd = |line: &str| documentation(line).is_some_and(|text| wrong(text).is_some());
    assert!(is_odd("    /// Is it on?"));
    assert!(is_odd("//! Nobody reads it."));
    assert!(is_odd("/// Takes so many bytes."));
    assert!(is_odd("/// The header is none."));
    assert!(!is_odd("/// Whether it is on."));
    assert!(!is_odd("/// assert!(x.is_none());"));
    assert!(!is_odd("    // Is it on?"));
}
