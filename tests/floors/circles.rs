//! Files of a crate that need each other.

use super::Finding;
use super::order::Order;
use super::tree::Crate;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// From each file to those it needs, with a name that it takes from there and the line.
type Graph<'a> = BTreeMap<&'a str, BTreeMap<&'a str, (String, usize)>>;

/// Every arrow of every circle, each with a shortest circle that it is part of. Imports that
/// break the printed order are left to [`super::order::upward`].
pub fn arrows(krate: &Crate, order: &Order) -> Vec<Finding> {
    let graph = graph(krate, order);
    let mut found = Vec::new();
    for circle in strongly_connected(&graph) {
        for from in &circle {
            for (to, (name, line)) in graph[from].iter().filter(|(to, _)| circle.contains(to)) {
                let way = way(&graph, to, from);
                let detail = format!("{from}:{line} → {to} ({name}){way}");
                found.push(Finding { arrow: format!("{from} → {to}"), detail });
            }
        }
    }
    found
}

fn graph<'a>(krate: &'a Crate, order: &Order) -> Graph<'a> {
    let mut graph = Graph::new();
    for (id, module) in krate.modules.iter().enumerate() {
        let needs = graph.entry(module.file.as_str()).or_default();
        for mention in &module.mentions {
            for target in krate.resolve(id, &mention.path) {
                let file = krate.modules[target.module].file.as_str();
                let tops = [krate.top_of(id), krate.top_of(target.module)];
                let counts = krate.is_need(id, mention, target)
                    && order.allows(krate.top_of(id), target.top)
                    && order.allows(tops[0], tops[1]);
                if counts && file != module.file {
                    needs.entry(file).or_insert((name(&mention.path), mention.line));
                }
            }
        }
    }
    graph
}

/// The sets of two files and more in which every file reaches every other.
fn strongly_connected<'a>(graph: &Graph<'a>) -> Vec<Vec<&'a str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|&file| (file, distances(graph, file).into_keys().collect())).collect();
    let mut circles: Vec<Vec<&str>> = Vec::new();
    for &file in graph.keys() {
        if circles.iter().any(|c| c.contains(&file)) {
            continue;
        }
        let both = |other: &&&str| {
            **other == file || reached[file].contains(**other) && reached[**other].contains(file)
        };
        let circle: Vec<&str> = graph.keys().filter(both).copied().collect();
        if circle.len() > 1 {
            circles.push(circle);
        }
    }
    circles
}

/// The files that can be reached, each with the one before it on a shortest way.
fn distances<'a>(graph: &Graph<'a>, start: &'a str) -> BTreeMap<&'a str, &'a str> {
    let mut before = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(file) = queue.pop_front() {
        for &next in graph[file].keys() {
            if !before.contains_key(next) {
                before.insert(next, file);
                queue.push_back(next);
            }
        }
    }
    before
}

/// ` → b.rs (name) → c.rs (name)`: a shortest way, without its start.
fn way<'a>(graph: &Graph<'a>, start: &'a str, end: &'a str) -> String {
    let before = distances(graph, start);
    let (mut text, mut at) = (String::new(), end);
    while at != start {
        let from = before[at];
        text = format!(" → {at} ({}){text}", graph[from][at].0);
        at = from;
    }
    text
}

/// The item at the end of a path, with the type that it belongs to.
fn name(path: &[String]) -> String {
    let is_type = |name: &String| name.starts_with(|c: char| c.is_uppercase());
    let start = path.iter().position(is_type).unwrap_or(path.len().saturating_sub(1));
    path[start..].join("::")
}
