//! A page cut into lines that know what they are.

use std::path::{Path, PathBuf};

/// What a line of Markdown is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Blank,
    Heading(usize),
    /// Inside a code block of this language, the fences included.
    Code(String),
    /// Inside `$$ .. $$`, the dollars included.
    Math,
    Table,
    /// A comment alone on its line: it speaks about the block after it.
    Mark,
    Text,
}

#[derive(Clone, Debug)]
pub struct Line {
    /// From 1.
    pub number: usize,
    pub text: String,
    pub kind: Kind,
    /// Lines of one table, code block, formula or paragraph share a number.
    pub block: usize,
}

pub struct Page {
    /// From the workspace's folder, with `/`.
    pub path: String,
    pub lines: Vec<Line>,
}

pub struct Site {
    pub root: PathBuf,
    pub pages: Vec<Page>,
}

impl Site {
    /// Every page under docs/ and exercises/, and those of the workspace's folder if there are any. The book's table
    /// of contents is no page: it has both languages.
    pub fn read(root: &Path) -> Site {
        let mut paths = files(&root.join("docs"), &["md"]);
        paths.retain(|path| !path.ends_with("docs/SUMMARY.md"));
        paths.extend(files(&root.join("exercises"), &["md"]));
        for name in ["README", "CONTRIBUTING", "SECURITY"] {
            paths.extend(["md", "zh-CN.md"].map(|end| root.join(format!("{name}.{end}"))));
        }
        let pages = paths.iter().filter_map(|path| {
            let text = std::fs::read_to_string(path).ok()?;
            let relative = path.strip_prefix(root).ok()?.to_str()?.replace('\\', "/");
            Some(Page::new(&relative, &text))
        });
        Site { root: root.to_path_buf(), pages: pages.collect() }
    }

    pub fn page(&self, path: &str) -> Option<&Page> {
        self.pages.iter().find(|p| p.path == path)
    }

    /// A file of the workspace; planted pages count as files too.
    pub fn exists(&self, path: &str) -> bool {
        self.page(path).is_some() || self.root.join(path).exists()
    }

    pub fn read_file(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.root.join(path)).ok()
    }
}

impl Page {
    pub fn new(path: &str, text: &str) -> Page {
        let mut lines: Vec<Line> = Vec::new();
        let (mut inside, mut block) = (None, 0);
        for (i, text) in text.lines().enumerate() {
            let trimmed = text.trim_start();
            let (kind, ends) = match &inside {
                Some(Kind::Code(l)) => (Kind::Code(l.clone()), trimmed.starts_with("```")),
                Some(other) => (other.clone(), trimmed.ends_with("$$")),
                None => (kind_of(trimmed), false),
            };
            let opens = inside.is_none()
                && (matches!(kind, Kind::Code(_)) || kind == Kind::Math && trimmed.len() < 4);
            if inside.is_none() && (opens || lines.last().is_none_or(|last| last.kind != kind)) {
                block += 1;
            }
            lines.push(Line { number: i + 1, text: text.into(), kind: kind.clone(), block });
            if opens {
                inside = Some(kind);
            } else if ends {
                (inside, block) = (None, block + 1);
            }
        }
        Page { path: path.into(), lines }
    }

    pub fn is_chinese(&self) -> bool {
        self.path.ends_with(".zh-CN.md")
    }

    pub fn twin_path(&self) -> String {
        match self.path.strip_suffix(".zh-CN.md") {
            Some(stem) => format!("{stem}.md"),
            None => format!("{}.zh-CN.md", self.path.trim_end_matches(".md")),
        }
    }

    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// The lines of the first block after the mark at `index`.
    pub fn block_after(&self, index: usize) -> &[Line] {
        let rest = &self.lines[index + 1..];
        let skip = |l: &&Line| matches!(l.kind, Kind::Blank | Kind::Mark);
        let start = rest.iter().take_while(skip).count();
        let len = rest[start..].iter().take_while(|l| l.block == rest[start].block).count();
        &rest[start..start + len]
    }

    /// A problem at a line of this page.
    pub fn at(&self, line: &Line, what: impl std::fmt::Display) -> String {
        format!("{}:{}: {what}", self.path, line.number)
    }
}

fn kind_of(trimmed: &str) -> Kind {
    let hashes = trimmed.bytes().take_while(|&b| b == b'#').count();
    match trimmed {
        "" => Kind::Blank,
        t if t.starts_with("```") => Kind::Code(t.trim_start_matches('`').trim().into()),
        t if t.starts_with("$$") => Kind::Math,
        t if t.starts_with('|') => Kind::Table,
        t if t.starts_with("<!--") && t.ends_with("-->") => Kind::Mark,
        t if hashes > 0 && t[hashes..].starts_with(' ') => Kind::Heading(hashes),
        _ => Kind::Text,
    }
}

impl Line {
    /// The text without comments.
    pub fn visible(&self) -> String {
        let mut text = self.text.clone();
        while let Some(start) = text.find("<!--") {
            let end = text[start..].find("-->").map_or(text.len(), |n| start + n + 3);
            text.replace_range(start..end, "");
        }
        text
    }

    /// What stands in a comment `<!-- key: .. -->` of this line.
    pub fn mark(&self, key: &str) -> Option<&str> {
        let (_, rest) = self.text.split_once("<!--")?;
        let inner = rest.split("-->").next()?.trim();
        let rest = inner.strip_prefix(key)?;
        match rest.strip_prefix(':') {
            Some(value) => Some(value.trim()),
            None => rest.is_empty().then_some(""),
        }
    }

    fn is_prose(&self) -> bool {
        matches!(self.kind, Kind::Text | Kind::Table | Kind::Heading(_))
    }

    /// `like this`.
    pub fn code_spans(&self) -> Vec<String> {
        if !self.is_prose() {
            return Vec::new();
        }
        self.visible().split('`').skip(1).step_by(2).map(String::from).collect()
    }

    /// Targets of `[text](target)`.
    pub fn links(&self) -> Vec<String> {
        if !self.is_prose() {
            return Vec::new();
        }
        let visible = self.visible();
        let targets = visible.split("](").skip(1);
        targets.filter_map(|t| t.split_once(')')).map(|(t, _)| t.to_string()).collect()
    }

    /// The cells of a row of a table.
    pub fn cells(&self) -> Vec<String> {
        let visible = self.visible();
        let inner = visible.trim().trim_start_matches('|').trim_end_matches('|');
        inner.split('|').map(|c| c.trim().to_string()).collect()
    }
}

/// All files below a folder with one of these endings, in order of their names.
pub fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return found };
    let mut entries: Vec<_> = entries.flatten().map(|e| e.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() && !path.ends_with("target") {
            found.extend(files(&path, endings));
        } else if path.extension().is_some_and(|e| endings.iter().any(|x| e == *x)) {
            found.push(path);
        }
    }
    found
}
