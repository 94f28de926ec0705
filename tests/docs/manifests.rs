//! What the Cargo.toml files say, and the tables and trees of the pages that repeat it.

use super::pages::{Kind, Line, Page, Site, files};
use std::collections::BTreeSet;
use std::path::Path;

pub struct Manifest {
    pub name: String,
    /// Folder, from the workspace's.
    pub folder: String,
    pub program: bool,
    /// Names of its examples.
    pub examples: Vec<String>,
    pub features: Vec<String>,
    /// Keys of `[package]`.
    pub says: Vec<String>,
    /// Names under `[dependencies]`.
    pub uses: Vec<String>,
}

pub struct Manifests {
    pub all: Vec<Manifest>,
}

impl Manifests {
    pub fn read(root: &Path) -> Manifests {
        let text = std::fs::read_to_string(root.join("Cargo.toml")).unwrap_or_default();
        let members = text.split("members = [").nth(1).and_then(|t| t.split(']').next());
        let folders = members.unwrap_or_default().split('"').skip(1).step_by(2);
        let all = folders.map(|folder| {
            let at = root.join(folder);
            let text = std::fs::read_to_string(at.join("Cargo.toml")).unwrap_or_default();
            let keys = |section: &str| -> Vec<String> {
                let lines = text.lines().skip_while(|l| *l != section).skip(1);
                let lines = lines.take_while(|l| !l.starts_with('['));
                let keys = lines.filter_map(|l| l.split(['.', ' ', '=']).next());
                keys.filter(|k| !k.is_empty() && !k.starts_with('#')).map(String::from).collect()
            };
            let name = text.lines().find_map(|l| l.strip_prefix("name = \""));
            Manifest {
                name: name.unwrap_or_default().trim_end_matches('"').into(),
                folder: folder.into(),
                program: at.join("src/main.rs").exists(),
                examples: files(&at.join("examples"), &["rs"])
                    .iter()
                    .filter_map(|p| example_name(&at.join("examples"), p))
                    .collect(),
                features: keys("[features]"),
                says: keys("[package]"),
                uses: keys("[dependencies]"),
            }
        });
        Manifests { all: all.collect() }
    }

    pub fn get(&self, name: &str) -> Option<&Manifest> {
        self.all.iter().find(|m| m.name == name)
    }

    pub fn has_program(&self, name: &str) -> bool {
        self.get(name).is_some_and(|m| m.program)
    }
}

/// `name` of `name.rs` and of `name/main.rs`; other files of such a folder are none.
fn example_name(folder: &Path, path: &Path) -> Option<String> {
    let relative = path.strip_prefix(folder).ok()?;
    let name = match relative.parent().filter(|parent| parent.components().next().is_some()) {
        Some(parent) if relative.ends_with("main.rs") => parent,
        Some(_) => return None,
        None => Path::new(relative.file_stem()?),
    };
    name.to_str().map(String::from)
}

/// `<!-- crates -->` before a table of packages, `<!-- release -->` before one of their names on
/// crates.io, `<!-- tree -->` before a tree of folders.
pub fn problems(site: &Site) -> Vec<String> {
    let manifests = Manifests::read(&site.root);
    let mut found = Vec::new();
    for page in &site.pages {
        for (i, line) in page.lines.iter().enumerate() {
            if line.mark("crates").is_some() {
                found.extend(table_problems(page, line, page.block_after(i), &manifests));
            }
            if line.mark("release").is_some() {
                found.extend(published_problems(page, line, page.block_after(i), &manifests));
            }
            if line.mark("tree").is_some() {
                found.extend(tree_problems(site, page, line, page.block_after(i), &manifests));
            }
        }
    }
    found
}

/// Column 1 names a package, column 2 the packages of ours that it uses.
fn table_problems(page: &Page, mark: &Line, rows: &[Line], manifests: &Manifests) -> Vec<String> {
    let (packages, mut found) = packages(page, mark, rows, manifests);
    for (row, manifest) in packages {
        let cell = row.cells().get(1).cloned().unwrap_or_default();
        let said: BTreeSet<String> = cell.split('`').skip(1).step_by(2).map(String::from).collect();
        let uses = manifest.uses.iter().filter(|u| manifests.get(u).is_some()).cloned();
        let uses: BTreeSet<String> = uses.collect();
        if uses != said {
            let what = format!("{} uses {uses:?}, the page says {said:?}", manifest.name);
            found.push(page.at(row, what));
        }
    }
    found
}

/// Column 1 names a package, each after those that it uses; its manifest says what crates.io shows.
fn published_problems(
    page: &Page,
    mark: &Line,
    rows: &[Line],
    manifests: &Manifests,
) -> Vec<String> {
    let (packages, mut found) = packages(page, mark, rows, manifests);
    let mut seen: Vec<&str> = Vec::new();
    for (row, Manifest { name, uses, says, .. }) in packages {
        let ours = uses.iter().filter(|used| manifests.get(used).is_some());
        let late = ours.filter(|used| !seen.contains(&used.as_str()));
        found.extend(late.map(|used| page.at(row, format!("{name} stands before {used}"))));
        let shown = ["description", "license", "readme", "keywords", "categories"];
        let missing = shown.iter().filter(|key| !says.iter().any(|said| said == *key));
        found.extend(missing.map(|key| page.at(row, format!("{name} has no {key} in Cargo.toml"))));
        seen.push(name);
    }
    found
}

/// The rows of a table whose column 1 names every package of `crates/`, and what is wrong with that.
fn packages<'a>(
    page: &Page,
    mark: &Line,
    rows: &'a [Line],
    manifests: &'a Manifests,
) -> (Vec<(&'a Line, &'a Manifest)>, Vec<String>) {
    let (mut known, mut found) = (Vec::new(), Vec::new());
    for row in rows.iter().skip(2) {
        let cell = row.cells().into_iter().next().unwrap_or_default();
        let name = cell.split('`').nth(1).unwrap_or_default();
        match manifests.get(name) {
            Some(manifest) => known.push((row, manifest)),
            None => found.push(page.at(row, format!("no package {name:?}"))),
        }
    }
    let is_there = |m: &&Manifest| known.iter().any(|(_, manifest)| manifest.name == m.name);
    let crates = manifests.all.iter().filter(|m| m.folder.starts_with("crates/"));
    let missing = crates.filter(|m| !is_there(m));
    found.extend(missing.map(|m| page.at(mark, format!("{} is not in the table", m.name))));
    (known, found)
}

/// One name a line, two more spaces for each level; what follows two spaces explains it.
fn tree_problems(
    site: &Site,
    page: &Page,
    mark: &Line,
    lines: &[Line],
    manifests: &Manifests,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders: Vec<String> = Vec::new();
    let mut listed = BTreeSet::new();
    for line in lines.iter().filter(|l| !l.text.starts_with("```")) {
        let depth = (line.text.len() - line.text.trim_start().len()) / 2;
        let names = line.text.trim_start().split("  ").next().unwrap_or_default();
        folders.truncate(depth);
        for name in names.split(", ") {
            let path = folders.concat() + name;
            if !site.exists(path.trim_end_matches('/')) {
                found.push(page.at(line, format!("no file {path:?}")));
            }
            listed.insert(path.trim_end_matches('/').to_string());
        }
        folders.push(names.to_string());
    }
    let core = site.read_file("crates/llm-core/src/lib.rs").unwrap_or_default();
    let modules = core.lines().filter_map(|l| l.strip_prefix("pub mod ")?.strip_suffix(';'));
    let modules = modules.flat_map(|m| {
        let path = format!("crates/llm-core/src/{m}");
        [format!("{path}.rs"), path]
    });
    let wanted = manifests.all.iter().map(|m| m.folder.clone()).chain(modules);
    let missing = wanted.filter(|w| site.exists(w) && !listed.contains(w));
    found.extend(missing.map(|m| page.at(mark, format!("{m} is not in the tree"))));
    found
}

/// `<!-- code: file -->` before a block of Rust: the file has the same lines. Every block of Rust has
/// such a mark, but in exercises/, where they are what the reader writes.
pub fn code_problems(site: &Site) -> Vec<String> {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut found = Vec::new();
    for page in &site.pages {
        let mut marked = BTreeSet::new();
        for (i, line) in page.lines.iter().enumerate() {
            let Some(path) = line.mark("code") else { continue };
            let block = page.block_after(i);
            let Some(first) = block.first() else { continue };
            marked.insert(first.block);
            let body: Vec<&str> =
                block.iter().map(|l| l.text.as_str()).filter(|t| !t.starts_with("```")).collect();
            let source = site.read_file(path).unwrap_or_default();
            if !one_line(&source).contains(&one_line(&body.join("\n"))) {
                found.push(page.at(first, format!("{path:?} does not have this code")));
            }
        }
        let rust = page.lines.iter().filter(|l| l.kind == Kind::Code("rust".into()));
        let rust = rust.filter(|l| l.text.starts_with("```rust") && !marked.contains(&l.block));
        if !page.path.starts_with("exercises/") {
            found.extend(rust.map(|l| page.at(l, "Rust without `<!-- code: file -->`")));
        }
    }
    found
}
