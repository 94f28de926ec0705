//! docs/promises.md has every row of the list, in order, and each says where it lives.

use super::names::is_path;
use super::pages::{Kind, Line, Page, Site};

/// The groups of the list and how many rows each has.
const GROUPS: [(&str, usize); 4] = [("S2", 22), ("S3", 23), ("S1", 18), ("S4", 29)];
/// Numbers of the original's tests that matter here.
const TESTS: [usize; 13] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 37, 38];
/// Each state in both languages.
const STATES: [[&str; 2]; 3] = [["done", "完成"], ["open", "未完成"], ["not built", "不做"]];

pub fn problems(site: &Site) -> Vec<String> {
    let states = ["docs/promises.md", "docs/promises.zh-CN.md"].map(|path| {
        let page = site.page(path).unwrap_or_else(|| panic!("no {path}"));
        page_problems(site, page)
    });
    let [(mut found, english), (more, chinese)] = states;
    found.extend(more);
    found.extend(answers(site));
    if english != chinese {
        found.push("docs/promises.md: the languages disagree on a state".into());
    }
    found
}

/// What other pages and rows of the list point at, and what has to stand there in both languages.
const ANSWERS: [(&str, &[&str], &[&str]); 5] = [
    // The map from a step to the code has the loops over the scores.
    ("variants/mha/sample_processing_walkthrough", &[LOOPS[0], LOOPS[1]], &[LOOPS[0], LOOPS[1]]),
    ("attention_indexing_trace", &[LOOPS[0], LOOPS[1]], &[LOOPS[0], LOOPS[1]]),
    // Before and after the page on heads: a product as projection and as comparison, dropout,
    // residual sums; training and writing; what H costs.
    (
        "transformer_math_to_code",
        &["is a projection", "a comparison", "Residuals", "Dropout"],
        &["是投影", "是比较", "残差", "dropout"],
    ),
    (
        "training_and_inference_walkthrough",
        &["a training step", "the next token"],
        &["一步训练", "下一个词元"],
    ),
    ("performance", &["H is not in the formula"], &["公式里没有 H"]),
];
const LOOPS: [&str; 2] = [
    "crates/llm-lens/src/trace/loops.rs::scores_1h",
    "crates/llm-lens/src/trace/loops.rs::scores_mha",
];

/// Pages that lack what others send their readers there for.
pub fn answers(site: &Site) -> Vec<String> {
    let texts = ANSWERS.iter().flat_map(|(page, english, chinese)| {
        [(format!("docs/{page}.md"), *english), (format!("docs/{page}.zh-CN.md"), *chinese)]
    });
    let lacks = |(path, words): (String, &[&str])| -> Vec<String> {
        let lines = site.page(&path).map_or(&[][..], |page| &page.lines);
        let text: Vec<String> = lines.iter().map(Line::visible).collect();
        let text = text.join("\n");
        let missing = words.iter().filter(|word| !text.contains(**word));
        missing.map(|word| format!("{path}: does not say {word:?}")).collect()
    };
    texts.flat_map(lacks).collect()
}

/// What is wrong with a page, and the state of each row.
pub fn page_problems(site: &Site, page: &Page) -> (Vec<String>, Vec<usize>) {
    let tables = page.lines.iter().filter(|l| l.kind == Kind::Table);
    let rows: Vec<(Vec<String>, &Line)> = tables.map(|l| (l.cells(), l)).collect();
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let is_row = |id: &str| {
        id.strip_prefix(['S', 'T']).is_some_and(|n| !n.is_empty() && n.chars().all(is_number))
    };
    let rows: Vec<_> = rows.into_iter().filter(|(cells, _)| is_row(&cells[0])).collect();
    let groups = GROUPS.iter().flat_map(|(group, n)| (1..=*n).map(move |i| format!("{group}.{i}")));
    let wanted: Vec<String> = groups.chain(TESTS.iter().map(|n| format!("T{n}"))).collect();
    let ids: Vec<&String> = rows.iter().map(|(cells, _)| &cells[0]).collect();
    let mut found = Vec::new();
    if !ids.iter().copied().eq(&wanted) {
        let odd = ids.iter().zip(&wanted).find(|(a, b)| *a != b);
        let counts = (ids.len(), wanted.len());
        found.push(format!("{}: {counts:?} rows, the first that differ {odd:?}", page.path));
    }
    let mut states = Vec::new();
    for (cells, line) in rows {
        let state = cells.get(2).map_or("", String::as_str);
        let column = usize::from(page.is_chinese());
        match STATES.iter().position(|names| names[column] == state) {
            Some(state) => states.push(state),
            None => found.push(page.at(line, format!("no state {state:?}"))),
        }
        let places: Vec<_> = line.code_spans().into_iter().filter(|span| is_path(span)).collect();
        if places.is_empty() {
            found.push(page.at(line, "a row without a place"));
        }
        found.extend(places.iter().filter_map(|p| Some(page.at(line, missing_test(site, p)?))));
    }
    (found, states)
}

/// A name behind a file of tests is one of its functions. (That other names exist is checked for
/// every page.)
fn missing_test(site: &Site, place: &str) -> Option<String> {
    let (path, name) = place.split_once("::")?;
    let of_tests = path.starts_with("tests/") || path.contains("/tests");
    let text = site.read_file(path).unwrap_or_default();
    let defined = ["(", "<", "(\n"].iter().any(|end| text.contains(&format!("fn {name}{end}")));
    (of_tests && !defined).then(|| format!("{path} has no test or function {name}"))
}
