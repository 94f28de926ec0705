//! docs/SUMMARY.md, the book's table of contents: every page once, in the part of its language, and
//! both parts in the same order.

use super::pages::{Page, Site};
use std::path::PathBuf;

pub fn path() -> PathBuf {
    super::crate_root().join("docs/SUMMARY.md")
}

pub fn problems(site: &Site, summary: &str) -> Vec<String> {
    let mut parts = summary.split("\n# ").skip(1);
    let (english, chinese) = (entries(parts.next()), entries(parts.next()));
    let mut found = Vec::new();
    if parts.next().is_some() {
        found.push("docs/SUMMARY.md: more than two parts".into());
    }
    let twins: Vec<Entry> = english
        .iter()
        .map(|e| Entry { page: Page::new(&e.page, "").twin_path(), ..e.clone() })
        .collect();
    let places = |entries: &[Entry]| -> Vec<(usize, String)> {
        entries.iter().map(|e| (e.depth, e.page.clone())).collect()
    };
    if places(&twins) != places(&chinese) {
        found.push("docs/SUMMARY.md: the parts are not the same pages in the same order".into());
    }
    for (part, is_chinese) in [(&english, false), (&chinese, true)] {
        let foreign = part.iter().filter(|e| Page::new(&e.page, "").is_chinese() != is_chinese);
        found.extend(foreign.map(|e| format!("docs/SUMMARY.md: {} in the other part", e.page)));
    }
    let all = [english, chinese].concat();
    for entry in &all {
        let title = site.page(&entry.page).and_then(title);
        match title {
            None => found.push(format!("docs/SUMMARY.md: no page {}", entry.page)),
            Some(title) if title != entry.title => {
                found.push(format!("docs/SUMMARY.md: {:?} is called {title:?}", entry.title));
            }
            Some(_) => {}
        }
    }
    for page in site.pages.iter().filter(|p| p.path.starts_with("docs/")) {
        let times = all.iter().filter(|e| e.page == page.path).count();
        if times != 1 {
            found.push(format!("docs/SUMMARY.md: {} is there {times} times", page.path));
        }
    }
    found
}

#[derive(Clone)]
struct Entry {
    depth: usize,
    title: String,
    page: String,
}

/// The lines `- [title](page)` of a part.
fn entries(part: Option<&str>) -> Vec<Entry> {
    let lines = part.unwrap_or_default().lines();
    let entry = |line: &str| {
        let depth = line.len() - line.trim_start().len();
        let (title, page) = line.trim_start().strip_prefix("- [")?.split_once("](")?;
        let page = format!("docs/{}", page.strip_suffix(')')?);
        Some(Entry { depth, title: title.into(), page })
    };
    lines.filter_map(entry).collect()
}

/// The first heading of a page.
fn title(page: &Page) -> Option<String> {
    page.lines.iter().find_map(|line| Some(line.text.strip_prefix("# ")?.to_string()))
}
