//! What pruning found, to be read and as JSON.

use super::found::{Found, Score, Scored};
use crate::messages::said;
use llm_core::base::Message;
use llm_core::message;
use llm_messages::columns::{left, width};
use llm_report::fact_label;
use llm_run::escape::json_line;
use llm_stories::{FactKind, FactTable};
use serde_json::{Value, json};
use std::path::Path;

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
            text.push_str(&line(&format!("{}.{}", s.layer, s.head), &s.score));
        }
    }
    if let Some(dropped) = &found.dropped {
        let heads: Vec<_> =
            dropped.heads.iter().map(|h| format!("{}.{}", h.layer, h.head)).collect();
        text.push_str(&said(message!("\nwithout {}\n", heads.join(", "))));
        text.push_str(&line("", &dropped.score));
        if let (Some(before), Some(after)) = (&whole.details, &dropped.score.details) {
            text.push_str(&kinds_table(before, after));
        }
    }
    text
}

fn heading(whole: &Score) -> String {
    said(match whole.details.is_some() {
        true => "head        loss   change    facts   lost most",
        false => "head        loss   change",
    })
}

fn line(name: &str, score: &Score, whole: &Score, room: usize) -> String {
    let (name, change) = (left(name, 6), score.loss - whole.loss);
    let mut line = format!("{name}  {:>8.4}  {change:>+7.4}", score.loss);
    if let (Some(before), Some(after)) = (&whole.details, &score.details) {
        let share = 100.0 * after.total().share();
        line.push_str(&format!("  {share:>5.1} %   "));
        let room = room.saturating_sub(width(&line));
        line.push_str(&lost_most(before, after, room));
    }
    format!("{}\n", line.trim_end())
}

/// The kinds of facts that lost most, in percentage points, as many as there is room for.
fn lost_most(before: &FactTable, after: &FactTable, room: usize) -> String {
    let mut lost: Vec<_> = changes(before, after).filter(|(_, change)| *change <= -1.0).collect();
    lost.sort_by(|a, b| a.1.total_cmp(&b.1));
    let named =
        |(kind, change): &(FactKind, f64)| format!("{} {change:+.0}", said(fact_label(*kind)));
    let mut shown: Vec<_> = lost.iter().take(KINDS).map(named).collect();
    while shown.len() > 1 && width(&shown.join(", ")) > room {
        shown.pop();
    }
    shown.join(", ")
}

/// Each kind and how many points its share changed by.
fn changes<'a>(
    before: &'a FactTable,
    after: &'a FactTable,
) -> impl Iterator<Item = (FactKind, f64)> + 'a {
    before.kinds.iter().map(|(kind, was)| {
        let is = after.kinds.get(kind).map_or(0.0, |s| s.share());
        (*kind, 100.0 * (is - was.share()))
    })
}

fn kinds_table(before: &FactTable, after: &FactTable) -> String {
    let mut text = said("\nfacts            before     after\n");
    for (kind, was) in &before.kinds {
        let is = after.kinds.get(kind).map_or(0.0, |s| s.share());
        text.push_str(&format!(
            "{} {:>6.1} %  {:>6.1} %\n",
            left(&said(fact_label(*kind)), 14),
            100.0 * was.share(),
            100.0 * is
        ));
    }
    text
}

pub(super) fn json(name: &str, found: &Found, saved: Option<&Path>) -> String {
    let list = |scored: &[Scored]| -> Vec<Value> {
        let one = |s: &Scored| {
            let mut value = json!({ "layer": s.layer, "head": s.head });
            extend(&mut value, &s.score);
            value
        };
        scored.iter().map(one).collect()
    };
    let mut line = json!({
        "event": "prune",
        "data": name,
        "tokens": found.tokens,
        "alone": list(&found.alone),
        "greedy": list(&found.greedy),
    });
    extend(&mut line, &found.whole);
    if let Some(dropped) = &found.dropped {
        let heads = dropped.heads.iter().map(|h| json!({ "layer": h.layer, "head": h.head }));
        let mut value = json!({
            "heads": heads.collect::<Vec<_>>(),
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
    if let Some(facts) = &score.details {
        let kinds = facts.kinds.iter().map(|(kind, s)| (kind.name().to_string(), json!(s.share())));
        value["facts"] = Value::Object(kinds.collect());
        value["facts_accuracy"] = json!(facts.total().share());
    }
}
