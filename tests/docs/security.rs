//! The files with unsafe code are named, each with its reason: on the pages on security and in the
//! lib.rs of their crate.

use super::pages::{Line, Page, Site, files};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::path::Path;

/// Where our Rust is, without what readers write (`exercises/`) and what feeds the fuzzer (`fuzz/`).
const FOLDERS: [&str; 4] = ["crates", "examples", "tests", ".ci"];

/// The pages that have the table.
const PAGES: [&str; 2] = ["SECURITY.md", "SECURITY.zh-CN.md"];

/// `<!-- unsafe -->` before a table of the files with unsafe code.
pub fn problems(site: &Site) -> Vec<String> {
    let files = unsafe_files(&site.root);
    let mut found: Vec<String> = files.iter().filter_map(|f| not_in_its_crate(site, f)).collect();
    for page in &site.pages {
        let marks: Vec<usize> =
            (0..page.lines.len()).filter(|&i| page.lines[i].mark("unsafe").is_some()).collect();
        if marks.is_empty() && PAGES.contains(&page.path.as_str()) {
            found.push(format!("{}: has no table of the files with unsafe code", page.path));
        }
        for i in marks {
            found.extend(table_problem(page, &page.lines[i], page.block_after(i), &files));
        }
    }
    found
}

/// Column 1 names every file, and nothing else.
fn table_problem(
    page: &Page,
    mark: &Line,
    rows: &[Line],
    files: &BTreeSet<String>,
) -> Option<String> {
    let cells = rows.iter().filter_map(|row| row.cells().into_iter().next());
    let listed = cells.filter_map(|cell| Some(cell.split('`').nth(1)?.to_string()));
    let listed: BTreeSet<String> = listed.collect();
    (listed != *files).then(|| {
        let missing: Vec<_> = files.difference(&listed).collect();
        let extra: Vec<_> = listed.difference(files).collect();
        page.at(mark, format!("unsafe code is in {missing:?} too, and not in {extra:?}"))
    })
}

/// A crate's lib.rs has the names of its own.
fn not_in_its_crate(site: &Site, file: &str) -> Option<String> {
    let (root, place) = file.split_once("/src/")?;
    let map = site.read_file(&format!("{root}/src/lib.rs")).unwrap_or_default();
    let named = map.contains(&format!("`{place}`"));
    (!named).then(|| format!("{root}/src/lib.rs does not name `{place}`"))
}

/// The files with unsafe code, from the workspace's folder.
fn unsafe_files(root: &Path) -> BTreeSet<String> {
    let paths = FOLDERS.iter().flat_map(|folder| files(&root.join(folder), &["rs"]));
    let paths = paths.filter(|path| {
        let source = std::fs::read_to_string(path).unwrap_or_default();
        has_unsafe(&source)
    });
    let relative =
        paths.filter_map(|path| Some(path.strip_prefix(root).ok()?.to_str()?.replace('\\', "/")));
    relative.collect()
}

/// Does code have the keyword, or leave to use it? Comments and texts do not count; what is no Rust
/// does.
fn has_unsafe(source: &str) -> bool {
    fn is_among(tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(word) => word == "unsafe" || word == "unsafe_code",
            TokenTree::Group(group) => is_among(group.stream()),
            TokenTree::Punct(_) | TokenTree::Literal(_) => false,
        })
    }
    source.contains("unsafe") && source.parse().map_or(true, is_among)
}

#[test]
fn unsafe_code_is_found_where_it_is_code() {
    let attribute = "#[unsafe(no_mangle)] fn f() {}";
    for code in ["unsafe { x() }", "m! { unsafe fn f() {} }", attribute, "#![allow(unsafe_code)]"] {
        assert!(has_unsafe(code), "{code}");
    }
    for none in ["//! unsafe {}", "/* unsafe */ fn is_unsafe() {}", "const A: &str = \"unsafe\";"] {
        assert!(!has_unsafe(none), "{none}");
    }
}

#[test]
fn a_table_that_lacks_a_file_is_found() {
    let root = super::crate_root();
    let page = |body: &str| {
        let pages = vec![Page::new("SECURITY.md", &format!("# Security\n\n{body}\n"))];
        problems(&Site { root: root.clone(), pages })
    };
    let of = |files: &BTreeSet<String>| {
        let rows: String = files.iter().map(|file| format!("| `{file}` | |\n")).collect();
        page(&format!("<!-- unsafe -->\n| file | why |\n|---|---|\n{rows}"))
    };
    let mut files = unsafe_files(&root);
    assert_eq!(of(&files), Vec::<String>::new());
    let first = files.pop_first().unwrap();
    let foreign = "crates/llm-core/src/lib.rs".to_string();
    files.insert(foreign.clone());
    for (fault, found) in
        [(first, of(&files)), (foreign, of(&files)), ("has no table".into(), page("None."))]
    {
        assert!(found.len() == 1 && found[0].contains(&fault), "{fault}: {found:?}");
    }
}
