//! Every page exists in both languages, and both say the same things.

use super::names::is_path;
use super::numbers::numbers;
use super::pages::{Kind, Page, Site};
use std::collections::BTreeSet;

pub fn problems(site: &Site) -> Vec<String> {
    let mut found = Vec::new();
    for page in &site.pages {
        let twin_path = page.twin_path();
        let Some(twin) = site.page(&twin_path) else {
            found.push(format!("{}: has no twin {twin_path}", page.path));
            continue;
        };
        let label = if page.is_chinese() { "English" } else { "简体中文" };
        let name = twin_path.rsplit('/').next().unwrap_or_default();
        let want = format!("> [{label}]({name})");
        let first = page.lines.first().map_or("", |l| l.text.as_str());
        if first != want {
            found.push(format!("{}:1: is {first:?}, not the switch {want:?}", page.path));
        }
        if !page.is_chinese() {
            found.extend(differences(page, twin));
        }
    }
    found
}

/// What a page consists of, apart from its language. Compared part by part.
fn outline(page: &Page) -> Vec<(&'static str, Vec<String>)> {
    let lines = || page.lines.iter();
    let blocks = |want: fn(&Kind) -> bool| {
        let mut blocks: Vec<Vec<&str>> = Vec::new();
        let mut last = 0;
        for line in page.lines.iter().filter(|l| want(&l.kind)) {
            if line.block != last {
                blocks.push(Vec::new());
                last = line.block;
            }
            blocks.last_mut().expect("just pushed").push(&line.text);
        }
        blocks
    };
    let headings = lines().filter_map(|l| match l.kind {
        Kind::Heading(level) => Some(format!("level {level}")),
        _ => None,
    });
    let tables = blocks(|k| *k == Kind::Table).into_iter().map(|rows| {
        let columns: Vec<_> = rows.iter().map(|r| r.matches('|').count()).collect();
        format!("columns {columns:?}")
    });
    // Commands and code are the same text; other blocks have the same numbers.
    let code = blocks(|k| matches!(k, Kind::Code(_))).into_iter().map(|lines| match lines[0] {
        "```rust" | "```python" => lines.join("\n"),
        "```sh" => lines.iter().map(|l| command(l)).collect::<Vec<_>>().join("\n"),
        fence => format!("{fence} {} lines {:?}", lines.len(), numbers(&lines.join("\n"), true)),
    });
    let formulas = blocks(|k| *k == Kind::Math)
        .into_iter()
        .map(|lines| format!("{:?}", numbers(&lines.join("\n"), true)));
    let marks = lines().filter_map(|l| {
        let (_, rest) = l.text.split_once("<!--")?;
        Some(rest.split("-->").next()?.trim().to_string())
    });
    let spans: BTreeSet<_> = lines().flat_map(|l| l.code_spans()).collect();
    let paths = lines().flat_map(|l| l.code_spans()).filter(|s| is_path(s));
    let mut paths: Vec<_> = paths.collect();
    paths.sort();
    let mut links: Vec<_> = lines().skip(1).flat_map(|l| l.links()).map(|l| page_of(&l)).collect();
    links.sort();
    vec![
        ("headings", headings.collect()),
        ("tables", tables.collect()),
        ("code blocks", code.collect()),
        ("formulas", formulas.collect()),
        ("marks", marks.collect()),
        ("paths", paths),
        ("inline code", spans.into_iter().collect()),
        ("links", links),
    ]
}

/// A line of a shell without the comment behind it.
fn command(line: &str) -> &str {
    line.split(" #").next().unwrap_or(line).trim_end()
}

/// A link without its language and its heading.
fn page_of(link: &str) -> String {
    link.split('#').next().unwrap_or(link).replace(".zh-CN.", ".")
}

fn differences(page: &Page, twin: &Page) -> Vec<String> {
    let mut found = Vec::new();
    for ((what, here), (_, there)) in outline(page).into_iter().zip(outline(twin)) {
        if here.len() != there.len() {
            let only = |a: &[String], b: &[String]| -> Vec<String> {
                a.iter().filter(|x| !b.contains(x)).cloned().collect()
            };
            let (a, b) = (only(&here, &there), only(&there, &here));
            let counts = format!("{} {what}, its twin {}", here.len(), there.len());
            found.push(format!("{}: {counts}; only here {a:?}, only there {b:?}", page.path));
        } else if let Some((a, b)) = here.iter().zip(&there).find(|(a, b)| a != b) {
            found.push(format!("{}: {what}: here {a:?}, in its twin {b:?}", page.path));
        }
    }
    found
}
