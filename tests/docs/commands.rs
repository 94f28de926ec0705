//! `cargo` commands in the pages name packages, programs, features, tests, verbs and flags that
//! exist.

use super::manifests::Manifests;
use super::pages::{Kind, Site, files};
use std::sync::OnceLock;

pub fn problems(site: &Site) -> Vec<String> {
    let manifests = Manifests::read(&site.root);
    let flags = flag_sources(site);
    let tests = test_sources(site);
    let mut found = Vec::new();
    for page in &site.pages {
        for line in &page.lines {
            let commands: Vec<String> = match &line.kind {
                Kind::Code(language) if language != "rust" => vec![line.text.clone()],
                _ => line.code_spans(),
            };
            for command in commands.iter().filter_map(|c| c.trim().strip_prefix("cargo ")) {
                let problems = wrong_words(command, &manifests, flags, tests);
                found.extend(problems.map(|p| page.at(line, format!("`cargo {command}`: {p}"))));
            }
            if line.kind == Kind::Code("sh".into()) {
                let unknown = unknown_flags(&line.text, flags);
                found.extend(unknown.map(|flag| page.at(line, format!("no flag {flag}"))));
            }
            for flag in line.code_spans() {
                let first = flag.split([' ', '=']).next().unwrap_or_default();
                if first.starts_with("--") && !has_flag(flags, first) {
                    found.push(page.at(line, format!("no flag {first}")));
                }
            }
        }
    }
    found
}

const SUBCOMMANDS: [&str; 10] =
    ["run", "test", "build", "check", "clippy", "doc", "tree", "fmt", "bench", "publish"];

fn wrong_words(
    command: &str,
    manifests: &Manifests,
    flags: &str,
    tests: &str,
) -> impl Iterator<Item = String> {
    let words: Vec<&str> =
        command.split_whitespace().take_while(|w| !["#", "|", "&&"].contains(w)).collect();
    let split = words.iter().position(|w| *w == "--").unwrap_or(words.len());
    let (mine, theirs) = words.split_at(split);
    let mut found = Vec::new();
    let subcommand = mine.first().copied().unwrap_or_default();
    if !SUBCOMMANDS.contains(&subcommand) {
        found.push(format!("unknown {subcommand:?}"));
    }
    let package = mine.windows(2).find(|pair| ["-p", "--package"].contains(&pair[0]));
    let package = package.and_then(|pair| manifests.get(pair[1]));
    let program = subcommand == "run" && !mine.contains(&"--example");
    for pair in mine.windows(2) {
        let value = pair[1];
        let known = match pair[0] {
            "--example" => package.is_some_and(|p| p.examples.iter().any(|e| e == value)),
            "-p" | "--package" if program => manifests.has_program(value),
            "-p" | "--package" => manifests.get(value).is_some(),
            "--bin" => manifests.has_program(value),
            "--features" => manifests.all.iter().any(|m| m.features.iter().any(|f| f == value)),
            _ => continue,
        };
        if !known {
            found.push(format!("no {} {value:?}", pair[0]));
        }
    }
    if subcommand == "test" {
        let filters = mine.windows(2).filter(|pair| !pair[0].starts_with("-"));
        let filters = filters.map(|pair| pair[1]).filter(|word| !word.starts_with('-'));
        let unknown = filters.filter(|word| !in_a_name(tests, word));
        found.extend(unknown.map(|word| format!("no test has {word:?} in its name")));
    }
    if subcommand == "run" {
        for (i, word) in theirs.iter().skip(1).enumerate() {
            if word.starts_with("--") && !has_flag(flags, word.split('=').next().unwrap_or(word)) {
                found.push(format!("no flag {word}"));
            }
            let verb = word.starts_with(|c: char| c.is_ascii_lowercase());
            if i == 0 && verb && !has_verb(flags, word) {
                found.push(format!("no verb {word}"));
            }
        }
    }
    found.into_iter()
}

/// Flags behind the path of a program: also those of a command that another program starts, such as
/// `mpirun`, which is not typed here.
fn unknown_flags<'a>(line: &'a str, flags: &str) -> impl Iterator<Item = &'a str> {
    let words =
        line.split([' ', '"']).skip_while(|word| !word.starts_with("target/release/train-gpt"));
    let words = words.take_while(|word| !["#", "|", "&&"].contains(word));
    words.filter(|word| {
        word.starts_with("--") && !has_flag(flags, word.split('=').next().unwrap_or(word))
    })
}

/// Whether a word, as in `cargo test WORD`, is in the name of a function or a module: the tests whose
/// path holds it run.
fn in_a_name(sources: &str, word: &str) -> bool {
    sources.match_indices(word).any(|(at, _)| {
        let before = &sources[..at];
        let name = before.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
        name.ends_with("fn ") || name.ends_with("mod ")
    })
}

/// The sources that hold tests, read once.
fn test_sources(site: &Site) -> &'static str {
    static SOURCES: OnceLock<String> = OnceLock::new();
    SOURCES.get_or_init(|| sources_in(site, &["crates", "examples", "exercises", "tests"]))
}

/// The sources that declare flags and verbs, read once.
fn flag_sources(site: &Site) -> &'static str {
    static SOURCES: OnceLock<String> = OnceLock::new();
    let folders =
        ["crates/llm-cli/src/args", "crates/llm-cli/src/flags", "crates/llm-run/src/settings"];
    SOURCES.get_or_init(|| sources_in(site, &folders))
}

fn sources_in(site: &Site, folders: &[&str]) -> String {
    let paths = folders.iter().flat_map(|folder| files(&site.root.join(folder), &["rs"]));
    paths.filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}

fn has_flag(sources: &str, flag: &str) -> bool {
    // Underscores are understood too.
    let name = &flag.trim_start_matches('-').replace('_', "-");
    // Flags of cargo itself that the pages explain.
    ["help", "version", "release", "workspace", "no-default-features"].contains(&name.as_str())
        || sources.contains(&format!("pub {}:", name.replace('-', "_")))
        || is_row(sources, &name.replace('-', "_"))
        || sources.contains(&format!("\"{name}\""))
        || sources.contains(&format!("\"{}\"", name.replace('-', "_")))
}

/// A row of the flags of a verb: `name: Type = "VALUE";`, or the first line of one.
fn is_row(sources: &str, name: &str) -> bool {
    let row = format!("        {name}: ");
    sources.lines().any(|line| line.starts_with(&row) && line.trim_end().ends_with([';', '[']))
}

fn has_verb(sources: &str, verb: &str) -> bool {
    let name = verb[..1].to_uppercase() + &verb[1..];
    [" {", "(", ","].iter().any(|end| sources.contains(&format!("    {name}{end}")))
}
