//! What pruning found, to be read and as JSON.

use crate::console::json_line;
use crate::messages::{Tell, said};
use llm_core::base::Message;
use llm_core::message;
use llm_lens::{HeadName, Scored};
use llm_messages::columns::{left, width};
use llm_report::fact_label;
use llm_run::data::Report;
use llm_stories::{FactKind, FactTable};
use serde_json::{Value, json};
use std::path::Path;

pub(super) type Score = llm_lens::Score<Report>;
pub(super) type Found = llm_lens::PruneReport<Report>;

/// Kinds of facts that a line has room for.
const KINDS: usize = 2;

pub(super) fn text(measured: &Message, found: &Found, room: usize) -> String {
    let whole = &found.whole;
    let measured = said(message!("measured on {}", measured));
    let mut text = format!("{measured}\n\n{}\n", heading(whole));
    let line = |name: &str, score: &Score| line(name, score, whole, room);
    text.push_str(&line(&said("all"), whole));
    let tables = [
        ("each head alone switched off", &found.alone),
        ("one after the other, the least missed first", &found.greedy),
    ];
    for (title, list) in tables.into_iter().filter(|(_, list)| !list.is_empty()) {
        text.push_str(&format!("\n{}\n", said(title)));
        for s in list {
            text.push_str(&line(&s.head.to_string(), &s.score));
        }
    }
    if let Some(dropped) = &found.dropped {
        text.tell(message!("\nwithout {}\n", names(&dropped.heads)));
        text.push_str(&line("", &dropped.score));
        if let (Some(before), Some(after)) = (&whole.details.facts, &dropped.score.details.facts) {
            text.push_str(&kinds_table(before, after));
        }
    }
    text
}

/// Heads in one line.
pub(super) fn names(heads: &[HeadName]) -> String {
    heads.iter().map(HeadName::to_string).collect::<Vec<_>>().join(", ")
}

fn heading(whole: &Score) -> String {
    said(match whole.details.facts.is_some() {
        true => "head        loss   change    facts   lost most",
        false => "head        loss   change",
    })
}

fn line(name: &str, score: &Score, whole: &Score, room: usize) -> String {
    let (name, change) = (left(name, 6), score.loss - whole.loss);
    let mut line = format!("{name}  {:>8.4}  {change:>+7.4}", score.loss);
    if let (Some(before), Some(after)) = (&whole.details.facts, &score.details.facts) {
        let share = 100.0 * after.total().share();
        line.push_str(&format!("  {share:>5.1} %   "));
        let room = room.saturating_sub(width(&line));
        line.push_str(&lost_most(before, after, room));
    }
    format!("{}\n", line.trim_end())
}

/// The kinds of facts that lost most, in percentage points, as many as there is room for.
fn lost_most(before: &FactTable, after: &FactTable, room: usize) -> String {
    let changes = shares(before, after).map(|(kind, was, is)| (kind, 100.0 * (is - was)));
    let mut lost: Vec<_> = changes.filter(|(_, change)| *change <= -1.0).collect();
    lost.sort_by(|a, b| a.1.total_cmp(&b.1));
    let named =
        |(kind, change): &(FactKind, f64)| format!("{} {change:+.0}", said(fact_label(*kind)));
    let mut shown: Vec<_> = lost.iter().take(KINDS).map(named).collect();
    while shown.len() > 1 && width(&shown.join(", ")) > room {
        shown.pop();
    }
    shown.join(", ")
}

/// Each kind, its share before and after.
fn shares(before: &FactTable, after: &FactTable) -> impl Iterator<Item = (FactKind, f64, f64)> {
    before
        .kinds
        .iter()
        .map(|(kind, was)| (*kind, was.share(), after.kinds.get(kind).map_or(0.0, |is| is.share())))
}

fn kinds_table(before: &FactTable, after: &FactTable) -> String {
    let mut text = said("\nfacts            before     after\n");
    for (kind, was, is) in shares(before, after) {
        let kind = left(&said(fact_label(kind)), 14);
        text.push_str(&format!("{kind} {:>6.1} %  {:>6.1} %\n", 100.0 * was, 100.0 * is));
    }
    text
}

pub(super) fn json(name: &str, found: &Found, saved: Option<&Path>) -> String {
    let list = |scored: &[Scored<Report>]| -> Vec<Value> {
        let one = |s: &Scored<Report>| {
            let mut value = json!(s.head);
            extend(&mut value, &s.score);
            value
        };
        scored.iter().map(one).collect()
    };
    let mut line = json!({
        "event": "prune",
        "data": name,
        "scored": found.whole.details.evaluation.tokens,
        "alone": list(&found.alone),
        "greedy": list(&found.greedy),
    });
    extend(&mut line, &found.whole);
    if let Some(dropped) = &found.dropped {
        let mut value = json!({
            "heads": dropped.heads,
            "head_mask": dropped.mask,
            "checkpoint": saved.map(|path| path.display().to_string()),
        });
        extend(&mut value, &dropped.score);
        line["dropped"] = value;
    }
    json_line(&line)
}

/// Adds what a score says to an object.
fn extend(value: &mut Value, score: &Score) {
    value["loss"] = json!(score.loss);
    if let Some(facts) = &score.details.facts {
        let kinds = facts.kinds.iter().map(|(kind, s)| (kind.name().to_string(), json!(s.share())));
        value["facts"] = Value::Object(kinds.collect());
        value["facts_accuracy"] = json!(facts.total().share());
    }
}
