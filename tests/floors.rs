//! Inside every crate a module imports only from those above it in the table of its `lib.rs`, and
//! no files need each other in a circle.

pub mod attributes;
mod circles;
mod known;
mod names;
mod order;
mod planted;
pub mod reader;
pub mod tree;

use order::Order;
use std::collections::BTreeSet;
use std::sync::OnceLock;
use tree::Crate;

/// Files that may need each other: a tensor remembers how it was made, and the walk back makes
/// tensors; the rules of the stories' grammar lead to each other.
const MEANT: [&[&str]; 2] =
    [&["tensor.rs", "autograd.rs"], &["branches.rs", "events.rs", "opening.rs"]];

/// An import that should not be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// `from → to`.
    arrow: String,
    /// Where it stands and what is wrong.
    detail: String,
}

/// What is wrong with the order and the circles of a crate.
fn findings(krate: &Crate) -> (Vec<String>, Vec<Finding>) {
    let order = Order::of(krate);
    let mut found = order::upward(krate, &order);
    found.extend(circles::arrows(krate, &order));
    found.retain(|f| !is_meant(&f.arrow));
    (order.problems, found)
}

fn is_meant(arrow: &str) -> bool {
    let file = |path: &str| path.rsplit('/').next().map(String::from);
    let ends: Vec<String> = arrow.split(" → ").filter_map(file).collect();
    MEANT.iter().any(|files| ends.iter().all(|end| files.contains(&end.as_str())))
}

/// The findings that `known` does not have, and the lines of `known` that are not found.
fn unexpected(known: &[&str], found: &[Finding]) -> Vec<String> {
    let arrows: BTreeSet<&str> = found.iter().map(|f| f.arrow.as_str()).collect();
    let new = found.iter().filter(|f| !known.contains(&f.arrow.as_str()));
    let new = new.map(|f| f.detail.clone());
    let gone = known.iter().filter(|line| !arrows.contains(**line));
    new.chain(gone.map(|line| format!("{line:?} is mended: take it from the list"))).collect()
}

/// The workspace's crates, read once.
pub fn crates() -> &'static [Crate] {
    static CRATES: OnceLock<Vec<Crate>> = OnceLock::new();
    CRATES.get_or_init(|| {
        let folder = workspace_tests::workspace().join("crates");
        let mut folders: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        folders.sort();
        folders.iter().filter_map(|folder| Crate::in_folder(folder)).collect()
    })
}

#[test]
fn every_import_goes_down_and_no_files_need_each_other() {
    let mut problems = Vec::new();
    for krate in crates() {
        let (table, found) = findings(krate);
        let of_crate = known::KNOWN.iter().filter(|(name, _)| *name == krate.name);
        let known: Vec<&str> = of_crate.flat_map(|(_, lines)| lines.iter().copied()).collect();
        let all = table.into_iter().chain(unexpected(&known, &found));
        problems.extend(all.map(|problem| format!("{}: {problem}", krate.name)));
    }
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}
