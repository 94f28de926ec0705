//! The order of a crate's modules as its `lib.rs` prints it, and the imports that break it.

use super::Finding;
use super::tree::{Crate, Id};
use std::collections::BTreeMap;

/// The row of each module in the table of the root's documentation, the floor first.
pub struct Order {
    rows: BTreeMap<Id, usize>,
    pub problems: Vec<String>,
}

impl Order {
    pub fn of(krate: &Crate) -> Order {
        let mut order = Order { rows: BTreeMap::new(), problems: Vec::new() };
        let mut seen = BTreeMap::new();
        for (row, cell) in first_cells(&krate.docs).iter().enumerate() {
            for name in cell.split(',').map(str::trim) {
                let word = name.trim_start_matches('[').trim_end_matches(']').trim_matches('`');
                let modules: Vec<Id> =
                    krate.top_modules().filter(|&id| krate.modules[id].name == word).collect();
                if modules.is_empty() {
                    order.problems.push(format!("the table names {name:?}, which is no module"));
                }
                if seen.insert(word.to_string(), row).is_some() {
                    order.problems.push(format!("the table names {name:?} twice"));
                }
                order.rows.extend(modules.iter().map(|&id| (id, row)));
            }
        }
        for id in krate.top_modules().filter(|id| !order.rows.contains_key(id)) {
            order.problems.push(format!("the table has no {:?}", krate.modules[id].name));
        }
        order
    }

    /// May a module import from another? The root may from every one, and none from the root;
    /// of a module without a row nothing is known.
    pub fn allows(&self, from: Id, to: Id) -> bool {
        match (from, to) {
            _ if from == to => true,
            (0, _) => true,
            (_, 0) => false,
            _ => match (self.rows.get(&from), self.rows.get(&to)) {
                (Some(from), Some(to)) => to <= from,
                _ => true,
            },
        }
    }
}

/// The first column of the table whose heading is `module`.
fn first_cells(docs: &[String]) -> Vec<String> {
    let cell = |line: &String| -> Option<String> {
        let inner = line.trim().strip_prefix('|')?;
        Some(inner.split('|').next()?.trim().to_string())
    };
    let mut lines = docs.iter().skip_while(|l| cell(l).is_none_or(|c| c != "module"));
    lines.by_ref().take(2).for_each(drop); // the heading and its rule
    lines.map_while(cell).collect()
}

/// Every import from a module that stands further down in the table.
pub fn upward(krate: &Crate, order: &Order) -> Vec<Finding> {
    let mut found = Vec::new();
    for (id, module) in krate.modules.iter().enumerate() {
        let from = krate.top_of(id);
        for mention in &module.mentions {
            let mut tops: Vec<Id> =
                krate.resolve(id, &mention.path).iter().map(|t| t.top).collect();
            tops.sort();
            tops.dedup();
            for to in tops.into_iter().filter(|&to| !order.allows(from, to)) {
                let arrow = format!("{} → {}", name(krate, from), name(krate, to));
                let place = format!("{}:{}", module.file, mention.line);
                let detail = format!("{place} names {}: {arrow}", mention.path.join("::"));
                found.push(Finding { arrow, detail });
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

fn name(krate: &Crate, id: Id) -> &str {
    match id {
        0 => &krate.modules[0].file,
        _ => &krate.modules[id].name,
    }
}
