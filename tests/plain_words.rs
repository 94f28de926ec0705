//! What is written says what it means: documentation names the thing, and a stumbling word stands
//! nowhere.

use crate::docs::pages::files;
use std::fs;
use std::path::Path;
use workspace_tests::workspace;

/// Beginnings of documentation that name nothing: the reader has to guess what "its" is.
const ELLIPTICAL: [&str; 12] = [
    "It",
    "Its",
    "Those",
    "Them",
    "They",
    "Their",
    "Theirs",
    "Of",
    "Who",
    "That of",
    "All of them",
    "One of them",
];

/// Words behind "The same" that leave open what is the same; "The same bytes" names it.
const OPEN: &str = " of from for with without on in as to by at but when where that after before \
                    or and beside behind if also twice again too it is over under until while ";

/// Comments of one word that say nothing about what they stand at.
const BARE: &str = " All Any Both Neither No None Not Nothing One Refused Same Self So That These \
                    This Yes ";

/// Words of documentation at which a reader stumbles, and what to write in their place.
const ODD: [(&str, &str); 3] = [
    ("nobody", "who it is: no other thread, no caller, no process"),
    ("so many", "n, or the name of the number"),
    (" is none", "invalid, empty, `None`"),
];

/// Words that stand nowhere: in code, messages, pages and scripts.
const REFUSED: [(&str, &str); 11] = [
    ("learnt", "learned"),
    ("by heart", "memorised"),
    ("needed is a ", "expected a .."),
    ("needed is the ", "expected the .."),
    ("needed is '", "expected '..'"),
    ("needed is {", "expected {}"),
    (": there are '", "valid values: '..'"),
    (": there are {", "valid values: {}"),
    ("possible are", "valid values: .."),
    ("processor in disguise", "a software renderer"),
    ("of one's own", "your own, or what it needs: {val} needs {data}"),
];

/// Where this file's own words, other projects' and earlier versions' stand.
const LEFT_OUT: [&str; 4] =
    ["tests/plain_words.rs", "CHANGELOG.md", "benches/measured.json", "tests/fixtures/"];

/// Folders of the workspace that hold what is written by hand.
const FOLDERS: [&str; 9] =
    ["benches", "crates", "docs", "examples", "exercises", "fuzz", "tests", "tools", "web"];

const ENDINGS: [&str; 11] =
    ["html", "js", "json", "md", "mjs", "py", "pyi", "rs", "svg", "toml", "wgsl"];

/// The text of a line of documentation: Rust's, and the first line of a script's.
fn documentation(line: &str) -> Option<&str> {
    let line = line.trim();
    let rust = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
    let script = || line.strip_prefix("/**").or_else(|| line.strip_prefix("\"\"\""));
    let text = rust.filter(|text| !text.starts_with('/')).or_else(script)?;
    Some(text.trim_end_matches("*/").trim_end_matches("\"\"\"").trim())
}

/// Whether the first words of a comment name no thing.
fn is_elliptical(text: &str) -> bool {
    let text = text.split(" zh:").next().unwrap_or_default().trim_end();
    let begins = |words: &&str| {
        text.strip_prefix(*words).is_some_and(|rest| {
            !rest.starts_with(|c: char| c.is_alphanumeric() || "_'’-`".contains(c))
        })
    };
    let is_open = |rest: &str| {
        let word = rest.strip_prefix(' ').and_then(|rest| rest.split_whitespace().next());
        let word = word.unwrap_or_default();
        rest.is_empty()
            || rest.starts_with(['.', ',', ';', ':'])
            || OPEN.contains(&format!(" {} ", word.trim_end_matches(',')))
    };
    let is_bare = text.strip_suffix('.').is_some_and(|word| BARE.contains(&format!(" {word} ")));
    is_bare
        || text.starts_with("..")
        || text.starts_with('…')
        || ELLIPTICAL.iter().any(begins)
        || text.strip_prefix("The same").is_some_and(is_open)
}

/// What is wrong with a line of documentation; `first` where it begins a comment.
fn wrong(text: &str, first: bool) -> Option<String> {
    if text.ends_with('?') && !text.contains("://") {
        return Some("a question; \"Whether it is on.\" says the same".into());
    }
    if first && is_elliptical(text) {
        return Some("begins without its thing; \"Name of the tensor.\", not \"Its name.\"".into());
    }
    let lower = text.to_lowercase();
    let odd = ODD.iter().find(|(word, _)| lower.contains(word));
    odd.map(|(word, better)| format!("\"{}\"; write {better}", word.trim()))
}

/// A word that stands nowhere. Prose and comments say "front end"; `Face` is a name of the code.
fn refused(line: &str, is_prose: bool) -> Option<String> {
    let lower = line.to_lowercase();
    let word = REFUSED.iter().find(|(word, _)| lower.contains(word));
    let word = word.map(|(word, better)| format!("\"{word}\"; write {better}"));
    let spoken: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
    let mut words = spoken.split(|c: char| !c.is_alphanumeric() && !"_./".contains(c));
    let is_face = |word: &str| ["face", "faces"].contains(&word.trim_end_matches('.'));
    word.or_else(|| {
        (is_prose && words.any(is_face)).then(|| "\"face\"; write front end".to_string())
    })
}

/// What is wrong with a file.
fn problems(path: &str, text: &str) -> Vec<String> {
    let (mut found, mut inside, mut fenced) = (Vec::new(), false, false);
    for (at, line) in (1..).zip(text.lines()) {
        let shown = documentation(line);
        fenced ^= path.ends_with(".md") && line.trim_start().starts_with("```");
        let comment = line.trim_start().starts_with(['/', '#', '*']);
        let why = shown.and_then(|text| wrong(text, !inside));
        let why = why.or_else(|| refused(line, comment || path.ends_with(".md") && !fenced));
        found.extend(why.map(|why| format!("{path}:{at}: {why}")));
        inside = shown.is_some();
    }
    found
}

#[test]
fn what_is_written_names_its_thing() {
    let root = workspace();
    let mut paths: Vec<_> =
        FOLDERS.iter().flat_map(|folder| files(&root.join(folder), &ENDINGS)).collect();
    let near = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.extend(near(&root).filter(|path| path.extension().is_some_and(|end| end == "md")));
    paths.extend(near(&root.join(".ci")).filter(|path| path.is_file()));
    let mut found = Vec::new();
    for path in paths {
        let name = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
        if LEFT_OUT.iter().any(|out| name.starts_with(out)) || name.contains(".zh-CN.") {
            continue;
        }
        found.extend(problems(&name, &fs::read_to_string(&path).unwrap()));
    }
    assert!(found.is_empty(), "{} places:\n{}", found.len(), found.join("\n"));
}

#[test]
fn planted_words_are_found() {
    for (path, text) in [
        ("a.rs", "    /// Is it on?"),
        ("a.rs", "//! Nobody reads it."),
        ("a.rs", "/// Takes so many bytes."),
        ("a.rs", "/// The header is none."),
        ("a.rs", "/// Its name."),
        ("a.rs", "/// Those."),
        ("a.rs", "/// None."),
        ("a.rs", "/// The same."),
        ("a.rs", "/// The same of a file."),
        ("a.rs", "/// Of all of it. zh: 全部"),
        ("a.rs", "/// .. and what follows"),
        ("a.rs", "message!(\"'{}' is {}, needed is {}\", a, b, c)"),
        ("a.rs", "let learnt = 1;"),
        ("a.rs", "// A face says it."),
        ("a.md", "A face says it."),
        ("a.js", "/** Of a text the first line. */"),
        ("a.py", "    \"\"\"Its rank.\"\"\""),
        ("a.json", "\"{val} is for text of one's own\": \"\""),
    ] {
        assert_eq!(problems(path, text).len(), 1, "{path}: {text}");
    }
    for (path, text) in [
        ("a.rs", "/// Whether it is on."),
        ("a.rs", "/// Name of the tensor.\n/// Its rank is 2."),
        ("a.rs", "/// The same bytes on any number of threads."),
        ("a.rs", "/// The sameness of two masks."),
        ("a.rs", "/// None of its bytes are read."),
        ("a.rs", "/// assert!(x.is_none());"),
        ("a.rs", "    // Is it on?"),
        ("a.rs", "// `Face` is a trait, of which face.rs has one."),
        ("a.rs", "let face = surface();"),
        ("a.md", "Hugging Face\n```rust\nlet mut face = 1;\n```"),
        ("a.md", "Everything needed is there."),
    ] {
        assert_eq!(problems(path, text), Vec::<String>::new(), "{path}: {text}");
    }
}
