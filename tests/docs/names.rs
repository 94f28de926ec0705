//! Links, paths and names in the pages exist.
//!
//! A function or type is written `path/file.rs::name`, also `path/file.rs::Type::name`; a local
//! variable as `let name` on a line that names its file. Any other word of code has to occur
//! somewhere in the workspace's sources.

use super::pages::{Kind, Line, Page, Site, files};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::sync::OnceLock;

const FOLDERS: [&str; 8] =
    ["benches/", "crates/", "docs/", "examples/", "exercises/", "tests/", "tools/", ".ci/"];
const ENDINGS: [&str; 3] = [".rs", ".md", ".toml"];

/// Whether inline code looks like a path, perhaps with a symbol behind it.
pub fn is_path(span: &str) -> bool {
    let path = span.split("::").next().unwrap_or(span);
    !path.contains(' ')
        && (FOLDERS.iter().any(|f| path.starts_with(f))
            || ENDINGS.iter().any(|e| path.ends_with(e)))
}

pub fn problems(site: &Site) -> Vec<String> {
    let words = source_words(site);
    let mut found = Vec::new();
    for page in &site.pages {
        for line in &page.lines {
            found.extend(links(site, page, line));
            found.extend(spans(site, page, line, words));
            if matches!(line.kind, Kind::Code(_)) {
                found.extend(bare_paths(site, page, line));
            }
        }
    }
    found
}

/// What a page links to although only a build leaves it there.
const BUILT: [&str; 1] = ["target/web/lab.html"];

fn links(site: &Site, page: &Page, line: &Line) -> Vec<String> {
    let mut found = Vec::new();
    for target in line.links() {
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
        let path = if file.is_empty() { page.path.clone() } else { join(page.folder(), file) };
        if BUILT.contains(&path.as_str()) {
            continue;
        }
        if !site.exists(&path) {
            found.push(page.at(line, format!("dead link {target:?}")));
            continue;
        }
        if !anchor.is_empty() && !site.page(&path).is_some_and(|p| has_heading(p, anchor)) {
            found.push(page.at(line, format!("no heading for {target:?}")));
        }
        let other = Page::new(&path, "").twin_path();
        if line.number > 1
            && page.is_chinese() != path.ends_with(".zh-CN.md")
            && site.exists(&other)
        {
            found.push(page.at(line, format!("{target:?} is in the other language")));
        }
    }
    found
}

/// `a/b` and `../c/d` make `a/c/d`.
fn join(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|p| !p.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Whether a heading has this anchor, as GitHub makes them.
fn has_heading(page: &Page, anchor: &str) -> bool {
    let slug = |text: &str| -> String {
        let text = text.trim_start_matches('#').trim().to_lowercase();
        let kept = text.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    page.lines.iter().any(|l| matches!(l.kind, Kind::Heading(_)) && slug(&l.text) == anchor)
}

fn spans(site: &Site, page: &Page, line: &Line, words: &HashSet<String>) -> Vec<String> {
    let spans = line.code_spans();
    let mut found = Vec::new();
    for span in &spans {
        let problem = if is_path(span) {
            path_problem(site, span)
        } else if let Some(name) = span.strip_prefix("let ") {
            variable_problem(site, &spans, name)
        } else if is_name(span)
            && !span.trim_end_matches("()").split("::").all(|w| words.contains(w))
        {
            Some(format!("{span:?} occurs nowhere in the sources"))
        } else {
            None
        };
        found.extend(problem.map(|p| page.at(line, p)));
    }
    found
}

fn is_name(span: &str) -> bool {
    let bare = span.trim_end_matches("()");
    bare.len() > 2
        && bare.starts_with(|c: char| c.is_ascii_alphabetic())
        && bare.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':')
}

fn path_problem(site: &Site, span: &str) -> Option<String> {
    let mut segments = span.split("::");
    let path = segments.next()?;
    if !site.exists(path.trim_end_matches('/')) {
        return Some(format!("no file {path:?}"));
    }
    let text = site.read_file(path).unwrap_or_default();
    let segments: Vec<&str> = segments.collect();
    let (last, owners) = segments.split_last()?;
    let missing = match owners.iter().find(|o| !defines(&text, o, true)) {
        Some(owner) => owner,
        None if !defines(&text, last, false) => last,
        None => return None,
    };
    Some(format!("{path:?} does not define {missing:?}"))
}

const DEFINES: [&str; 10] =
    ["fn", "struct", "enum", "trait", "const", "static", "type", "mod", "macro_rules", "union"];

/// Whether Rust source defines a name (or, for an owner, has an `impl` of it).
fn defines(source: &str, name: &str, owner: bool) -> bool {
    source.lines().map(str::trim_start).filter(|l| !l.starts_with("//")).any(|line| {
        let tokens: Vec<&str> = tokens(line).collect();
        tokens.windows(2).any(|pair| {
            let known = DEFINES.contains(&pair[0]) || owner && ["impl", "for"].contains(&pair[0]);
            known && pair[1] == name
        })
    })
}

fn variable_problem(site: &Site, spans: &[String], name: &str) -> Option<String> {
    let mut files = spans.iter().filter(|s| is_path(s)).filter_map(|s| {
        let path = s.split("::").next()?;
        Some((path, site.read_file(path)?))
    });
    let bound = |text: &str| {
        text.lines().map(str::trim_start).any(|line| {
            let pattern = line.strip_prefix("let ").and_then(|l| l.split(" = ").next());
            pattern.is_some_and(|p| tokens(p).any(|t| t == name))
        })
    };
    match files.next() {
        None => Some(format!("`let {name}` on a line that names no file")),
        Some((_, text)) if bound(&text) => None,
        Some((path, _)) => Some(format!("{path:?} has no `let {name}`")),
    }
}

/// Paths that stand in a code block, one a word.
fn bare_paths(site: &Site, page: &Page, line: &Line) -> Vec<String> {
    let words = line.text.split_whitespace().filter(|w| FOLDERS.iter().any(|f| w.starts_with(f)));
    // `docs/*[!N].md` stands for what a shell finds there: the folder has to have such files.
    let there = |word: &str| match word.split_once("/*") {
        Some((folder, names)) => std::fs::read_dir(site.root.join(folder)).is_ok_and(|entries| {
            let paths = entries.flatten().map(|entry| entry.path());
            let kind = names.rsplit('.').next();
            paths.into_iter().any(|path| path.extension().and_then(OsStr::to_str) == kind)
        }),
        None => site.exists(word.trim_end_matches('/')),
    };
    let dead = words.filter(|w| !there(w));
    dead.map(|w| page.at(line, format!("no file {w:?}"))).collect()
}

fn tokens(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|t| !t.is_empty())
}

/// Every word of the workspace's Rust and TOML files, this test left out. Read once: all sites are
/// of one workspace.
fn source_words(site: &Site) -> &'static HashSet<String> {
    static WORDS: OnceLock<HashSet<String>> = OnceLock::new();
    WORDS.get_or_init(|| read_source_words(site))
}

fn read_source_words(site: &Site) -> HashSet<String> {
    let mut paths = files(&site.root.join("crates"), &["rs", "toml"]);
    paths.extend(files(&site.root.join("examples"), &["rs", "toml"]));
    paths.extend(files(&site.root.join("exercises"), &["rs", "toml"]));
    paths.extend(files(&site.root.join("tests"), &["rs", "toml"]));
    paths.push(site.root.join("Cargo.toml"));
    paths.retain(|p| !p.starts_with(site.root.join("tests/docs")) && !p.ends_with("docs.rs"));
    let texts = paths.iter().filter_map(|p| std::fs::read_to_string(p).ok());
    texts.flat_map(|t| tokens(&t).map(String::from).collect::<Vec<_>>()).collect()
}
