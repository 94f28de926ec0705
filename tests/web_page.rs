//! The page of `web/`: both languages say the same things, every text is used and every used text is
//! there, the names of facts and roles are the libraries', and the page needs no other file.

use crate::literals::has_han;
use llm_lens::Role;
use llm_stories::{FactKind, story};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use workspace_tests::workspace;

/// Where Chinese may stand.
const CHINESE: [&str; 3] = ["words.js", "shared/words.js", "index.html"];
/// The only address in there: the name of a kind of picture, which no browser fetches.
const NAMESPACE: &str = "http://www.w3.org/2000/svg";

fn web() -> PathBuf {
    workspace().join("web")
}

/// Every source of the page with its name, those that reports have too among them.
fn sources() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for folder in ["", "shared/"] {
        for entry in std::fs::read_dir(web().join(folder)).unwrap() {
            let file = entry.unwrap().path();
            if ["js", "css", "html"].iter().any(|e| file.extension().is_some_and(|x| x == *e)) {
                let name = format!("{folder}{}", file.file_name().unwrap().to_str().unwrap());
                found.insert(name, std::fs::read_to_string(&file).unwrap());
            }
        }
    }
    found
}

/// What stands between quotes from here on, and what comes after it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start().strip_prefix('\'')?;
    let end = text.find('\'')?;
    Some((text[..end].into(), &text[end + 1..]))
}

/// All texts that the page has.
fn all_words(sources: &BTreeMap<String, String>) -> Vec<(String, [String; 2])> {
    let tables = sources.iter().filter(|(name, _)| name.ends_with("words.js"));
    tables.flat_map(|(_, source)| words(source)).collect()
}

/// `key: ['English', 'Chinese']`, all of them.
fn words(source: &str) -> Vec<(String, [String; 2])> {
    let table = source.split_once("WORDS = {").unwrap().1;
    let mut found = Vec::new();
    for (at, _) in table.match_indices(": [") {
        let before = table[..at].trim_end_matches('\'');
        let begin = before.rfind(|c: char| !(c.is_alphanumeric() || "_-".contains(c))).unwrap();
        let (en, rest) = quoted(&table[at + 3..]).unwrap();
        let (zh, rest) = quoted(rest.trim_start().strip_prefix(',').unwrap()).unwrap();
        assert!(rest.starts_with(']'), "{en}: more than two languages, or a quote inside");
        found.push((before[begin + 1..].into(), [en, zh]));
    }
    found
}

fn places(text: &str) -> BTreeSet<&str> {
    text.split('{').skip(1).map(|part| part.split_once('}').unwrap().0).collect()
}

/// The names that follow a mark, up to a quote.
fn after<'a>(source: &'a str, mark: &str, until: char) -> Vec<&'a str> {
    source.split(mark).skip(1).filter_map(|part| Some(part.split_once(until)?.0)).collect()
}

#[test]
fn both_languages_say_everything() {
    let all = all_words(&sources());
    assert!(all.len() > 150, "{}", all.len());
    let keys: BTreeSet<_> = all.iter().map(|(key, _)| key).collect();
    assert_eq!(keys.len(), all.len(), "a key stands there twice");
    for (key, [en, zh]) in &all {
        assert!(!en.is_empty() && !has_han(en), "{key}: {en}");
        assert!(has_han(zh), "{key}: {zh}");
        assert_eq!(places(en), places(zh), "{key}");
    }
}

#[test]
fn a_missing_place_and_a_second_key_would_be_seen() {
    let table = "export const WORDS = {\n a: ['{n} of {m}', '\u{5171}{m}'], 'b-c': ['x', 'y'],\n};";
    let found = words(table);
    assert_eq!(found.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["a", "b-c"]);
    assert_ne!(places(&found[0].1[0]), places(&found[0].1[1]));
}

/// Keys that a source spells out, wherever a text is said.
fn spelt(source: &str) -> BTreeSet<String> {
    let marks = [("data-say=\"", '"'), ("data-label=\"", '"'), ("'data-label': '", '\'')];
    let marked = marks.iter().flat_map(|&(mark, end)| after(source, mark, end)).map(String::from);
    let mut found: BTreeSet<String> = marked.collect();
    for mark in ["say(", "tell(", "failure(", "refusal("] {
        for call in source.split(mark).skip(1) {
            // A choice between keys has several quotes before its end; a key is the first of its call.
            let until = call.find(['{', ';', '\n']).unwrap_or(call.len());
            let quotes: Vec<_> = call[..until].split('\'').collect();
            found.extend(quotes.iter().skip(1).step_by(2).map(|key| (*key).to_string()));
        }
    }
    found
}

#[test]
fn every_text_is_used_and_every_used_one_is_there() {
    let sources = sources();
    let all = all_words(&sources);
    let there: BTreeSet<String> = all.into_iter().map(|(key, _)| key).collect();
    let mut used: BTreeSet<String> = BTreeSet::new();
    for (name, source) in sources.iter().filter(|(name, _)| !name.ends_with("words.js")) {
        let spelt = spelt(source);
        for key in after(source, "data-say=\"", '"') {
            assert!(there.contains(key), "{name}: no text '{key}'");
        }
        for mark in ["say('", "tell('", "failure('", "refusal('"] {
            for key in after(source, mark, '\'') {
                assert!(there.contains(key), "{name}: no text '{key}'");
            }
        }
        used.extend(spelt);
    }
    used.extend(FactKind::ALL.iter().map(|kind| kind.name().to_string()));
    used.extend(Role::ALL.iter().map(|role| format!("role_{}", role.name())));
    let tour = pages_of_the_tour(&sources);
    let names = tour.iter().map(|page| page.rsplit('/').next().unwrap());
    used.extend(names.map(|name| format!("page_{name}")));
    let steps = sources["tour.js"].matches("{ at: '").count();
    used.extend((1..=steps).flat_map(|n| [format!("tour{n}"), format!("tour{n}Title")]));
    let unused: Vec<_> = there.difference(&used).collect();
    assert!(unused.is_empty(), "said by nobody: {unused:?}");
    let missing = |key: &String| key.starts_with("role_") && !there.contains(key);
    let missing: Vec<_> = used.iter().filter(|key| missing(key)).collect();
    assert!(missing.is_empty(), "roles without a name: {missing:?}");
    for kind in FactKind::ALL {
        assert!(there.contains(kind.name()), "no name for facts of kind {}", kind.name());
    }
}

#[test]
fn chinese_stands_among_the_words() {
    for (name, source) in sources() {
        if !CHINESE.contains(&name.as_str()) {
            assert!(!has_han(&source), "{name} has Chinese in it");
        }
    }
}

#[test]
fn nothing_is_fetched_from_elsewhere() {
    for (name, source) in sources() {
        let own = source.replace(NAMESPACE, "");
        for address in ["http:", "https:", "//cdn", "url(", "@import", "eval("] {
            assert!(!own.contains(address), "{name}: {address}");
        }
        for import in after(&source, "from '", '\'') {
            let folder = web().join(&name).parent().unwrap().to_path_buf();
            assert!(import.starts_with("./") && folder.join(import).is_file(), "{name}: {import}");
        }
    }
    let page = &sources()["index.html"];
    let policy = page.split_once("Content-Security-Policy\" content=\"").unwrap().1;
    assert!(policy.starts_with("default-src 'none'"), "a page that may fetch from anywhere");
}

/// All pages of the book that steps of the tour lead to.
fn pages_of_the_tour(sources: &BTreeMap<String, String>) -> Vec<&str> {
    let lists = after(&sources["tour.js"], "pages: [", ']');
    lists.iter().flat_map(|list| list.split('\'').skip(1).step_by(2)).collect()
}

#[test]
fn the_tour_leads_to_pages_that_exist() {
    let sources = sources();
    let pages = pages_of_the_tour(&sources);
    assert_eq!(pages[0], "concepts/guess_the_next", "the tour begins with page zero");
    assert!(pages.len() >= sources["tour.js"].matches("{ at: '").count());
    let linked = after(&sources["index.html"], "data-page=\"", '"');
    for page in pages.into_iter().chain(linked) {
        for ending in [".md", ".zh-CN.md"] {
            let file = workspace().join(format!("docs/{page}{ending}"));
            assert!(file.is_file(), "{}", file.display());
        }
    }
    for place in after(&sources["tour.js"], "{ at: '", '\'') {
        assert!(sources["index.html"].contains(&format!("id=\"{place}\"")), "{place}");
    }
}

#[test]
fn the_first_sentence_is_one_that_stories_have() {
    let sources = sources();
    let sentence = after(&sources["train.js"], "const STORY = '", '\'')[0];
    // Names, colours and things of the grammar, so that heads read what they have learned.
    let known: BTreeSet<String> = (0..300)
        .flat_map(|i| story(1, i).text.split_whitespace().map(String::from).collect::<Vec<_>>())
        .collect();
    for word in sentence.split_whitespace() {
        assert!(known.contains(word), "no story has '{word}'");
    }
}

#[test]
fn files_of_the_page_are_small() {
    for (name, source) in sources() {
        let lines = source.lines().count();
        assert!(lines <= 300, "{name} has {lines} lines");
    }
}
