//! One word for one thing on the Chinese pages: the table of docs/pages.zh-CN.md names the words, and
//! in its last column those that are not used for the same thing.

use super::pages::{Kind, Line, Page, Site};

const TABLE: &str = "docs/pages.zh-CN.md";

/// Where such a word is a name: pages, and the word.
const NAMES: [(&str, &str); 4] = [
    ("docs/in_python.zh-CN.md", "tokens"), // an array of the file, a column of the table
    ("docs/in_python.zh-CN.md", "token"),
    ("docs/training_runs.zh-CN.md", "tokens"), // a column of metrics.csv
    ("docs/learn_by_hand.zh-CN.md", "token"),  // an index
];

pub fn problems(site: &Site) -> Vec<String> {
    let refused = refused(site);
    let mut found = Vec::new();
    if refused.len() < 10 {
        found.push(format!("{TABLE}: only {refused:?} are refused"));
    }
    for page in site.pages.iter().filter(|p| p.is_chinese()) {
        found.extend(page_problems(page, &refused));
    }
    found
}

/// The words of the last column.
pub fn refused(site: &Site) -> Vec<String> {
    let Some(page) = site.page(TABLE) else { return Vec::new() };
    let mark = page.lines.iter().position(|l| l.mark("words").is_some());
    let rows = mark.map_or(&[][..], |i| page.block_after(i));
    let cells = rows.iter().skip(2).filter_map(|row| row.cells().pop());
    let words = cells.flat_map(|c| c.split('、').map(String::from).collect::<Vec<_>>());
    words.filter(|word| !word.is_empty()).collect()
}

pub fn page_problems(page: &Page, refused: &[String]) -> Vec<String> {
    let table = page.lines.iter().position(|l| l.mark("words").is_some());
    let table = table.map_or(&[][..], |i| page.block_after(i));
    let is_text = |l: &&Line| matches!(l.kind, Kind::Text | Kind::Table | Kind::Heading(_));
    let lines = page.lines.iter().filter(is_text);
    let lines = lines.filter(|l| table.iter().all(|row| row.number != l.number));
    lines
        .flat_map(|line| {
            let text = prose(line);
            let here = refused.iter().filter(|word| has(&text, word));
            let here = here.filter(|word| !NAMES.contains(&(page.path.as_str(), word.as_str())));
            let here =
                here.map(|word| page.at(line, format!("{word:?} has another word, see {TABLE}")));
            here.collect::<Vec<_>>()
        })
        .collect()
}

/// A line without comments, inline code and the targets of links.
fn prose(line: &Line) -> String {
    let mut text = line.visible();
    for target in line.links() {
        text = text.replace(&format!("]({target})"), "]");
    }
    text.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// Is the word in the text? Latin words only as whole ones.
fn has(text: &str, word: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "_-|<".contains(c);
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back().is_some_and(is_letter);
        let after = text[at + word.len()..].chars().next().is_some_and(is_letter);
        !word.is_ascii() || !before && !after
    })
}
