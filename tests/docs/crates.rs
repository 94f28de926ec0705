//! What a page says about the insides of the crates: the order of the core's modules, and the features.

use super::manifests::Manifests;
use super::pages::{Line, Page, Site};
use std::collections::BTreeSet;

/// `<!-- order -->` before the core's modules in their order, `<!-- features -->` before a table of
/// features; a build without default features says which ones it keeps.
pub fn problems(site: &Site) -> Vec<String> {
    let manifests = Manifests::read(&site.root);
    let mut found = Vec::new();
    for page in &site.pages {
        for (i, line) in page.lines.iter().enumerate() {
            if line.mark("order").is_some() {
                found.extend(order_problem(site, page, line, page.block_after(i)));
            }
            if line.mark("features").is_some() {
                found.extend(feature_problems(page, line, page.block_after(i), &manifests));
            }
            let bare =
                line.text.contains("--no-default-features") && !line.text.contains("--features ");
            if bare && line.text.contains("cargo ") {
                found.push(page.at(line, "does not say which features stay"));
            }
        }
    }
    found
}

/// The block has the names of the table in llm-core's lib.rs, in its order.
fn order_problem(site: &Site, page: &Page, mark: &Line, block: &[Line]) -> Option<String> {
    let core = site.read_file("crates/llm-core/src/lib.rs").unwrap_or_default();
    let rows = core.lines().filter_map(|l| l.strip_prefix("//! | [`"));
    let cells = rows.filter_map(|row| row.split(" | ").next());
    let of_core = cells.flat_map(|cell| cell.split(", "));
    let of_core: Vec<&str> = of_core.map(|name| name.trim_matches(['[', ']', '`'])).collect();
    let body = block.iter().filter(|l| !l.text.starts_with("```"));
    let words = body.flat_map(|l| l.text.split([' ', ',']));
    let of_page: Vec<&str> = words.filter(|w| !w.is_empty() && *w != "->").collect();
    (of_core != of_page).then(|| {
        page.at(mark, format!("the order is {of_core:?} in lib.rs, {of_page:?} on the page"))
    })
}

/// Column 1 is a feature, the last column its packages; without names it is every package.
fn feature_problems(page: &Page, mark: &Line, rows: &[Line], manifests: &Manifests) -> Vec<String> {
    let mut found = Vec::new();
    let mut listed = BTreeSet::from(["default".to_string()]);
    for row in rows.iter().skip(2) {
        let cells = row.cells();
        let names = |cell: Option<&String>| -> BTreeSet<String> {
            let cell = cell.map_or("", String::as_str);
            cell.split('`').skip(1).step_by(2).map(String::from).collect()
        };
        let Some(feature) = names(cells.first()).into_iter().next() else { continue };
        let has = manifests.all.iter().filter(|m| m.features.contains(&feature));
        let has: BTreeSet<String> = has.map(|m| m.name.clone()).collect();
        let said = match names(cells.last()) {
            none if none.is_empty() => manifests.all.iter().map(|m| m.name.clone()).collect(),
            some => some,
        };
        if has != said {
            found.push(page.at(row, format!("{feature} is in {has:?}, the page says {said:?}")));
        }
        listed.insert(feature);
    }
    let all: BTreeSet<String> =
        manifests.all.iter().flat_map(|m| m.features.iter().cloned()).collect();
    let missing = all.difference(&listed);
    found.extend(missing.map(|f| page.at(mark, format!("the feature {f} is not in the table"))));
    found
}
