//! What patching found, to be read and as JSON.

use crate::console::json_line;
use crate::generation::shown;
use crate::messages::{Tell, said};
use llm_core::base::Message;
use llm_core::message;
use llm_lens::{At, Carried, Explained, FEWEST_PAIRS, LEAST, Pair, Part, Sender, Share, What};
use llm_messages::table::{Column, table};
use llm_run::plan::Loaded;
use serde_json::json;

/// Texts that were measured on, and what was found.
pub(super) struct Patched {
    /// Name of the texts.
    pub about: Message,
    /// The user's two texts, in place of stories.
    pub own: Option<OwnTexts>,
    /// The parts and their shares.
    pub explained: Explained,
    /// Heads that carry most at the end, `(layer, head)`.
    pub receivers: Vec<[usize; 2]>,
    /// What they read from heads of earlier blocks.
    pub paths: Vec<Sender>,
}

/// The user's two texts, with the stream at each position.
pub(super) struct OwnTexts {
    /// The texts and their answers.
    pub pair: Pair,
    /// d of each text.
    pub differences: [f64; 2],
    /// The stream before each block at each position, `[L·T]`.
    pub stream: Vec<Share>,
}

/// A difference of scores, in nats, of which shares mean nothing.
const LITTLE: f64 = 1.0;
/// The least share of a position that a table shows.
const WORTH: f64 = 0.05;

pub(super) fn text(found: &Patched, loaded: &Loaded, room: usize) -> String {
    let Patched { explained, own, .. } = found;
    let mut text = said(message!("measured on {}", found.about)) + "\n";
    match own {
        Some(own) => text.push_str(&answers(own, loaded)),
        None => text.tell(message!(
            "the model answers both texts of a pair right in {} of {} pairs; those are measured\n",
            explained.right.len(),
            explained.tried
        )),
    }
    if explained.shares.is_empty() {
        text.tell("There is nothing to explain.\n");
        return text;
    }
    text.push('\n');
    text.push_str(&parts(explained, room));
    text.push('\n');
    text.push_str(&stream(explained, room));
    if let Some(own) = own {
        text.push('\n');
        text.push_str(&positions(own, loaded, room));
    }
    if !found.paths.is_empty() {
        text.push('\n');
        text.push_str(&paths(found, room));
    }
    text.push('\n');
    text.push_str(&conclusion(found));
    text
}

fn answers(own: &OwnTexts, loaded: &Loaded) -> String {
    let [a, b] = own.pair.answers.map(|token| shown(loaded.tokenizer.as_ref(), token));
    let [clean, other] = own.differences.map(|d| format!("{d:+.3}"));
    said(message!("{} before {}: d = {} for --clean, {} for --other\n", a, b, clean, other))
}

/// `1.0`, `1.*`, `mlp 1`.
fn name(part: &Part) -> String {
    match part.what {
        What::Head(head) => format!("{}.{head}", part.layer),
        What::Heads => said(message!("heads of {}", part.layer)),
        What::Mlp => said(message!("MLP of {}", part.layer)),
        What::Stream => said(message!("before {}", part.layer)),
    }
}

fn share(mean: f64, sd: f64, pairs: usize) -> String {
    if pairs > 1 { format!("{mean:.2} ± {sd:.2}") } else { format!("{mean:.2}") }
}

fn find(explained: &Explained, what: What, layer: usize, at: At) -> Option<&Carried> {
    explained.rows.iter().find(|row| row.part == Part { layer, what, at })
}

/// Heads and MLPs, at the end and everywhere.
fn parts(explained: &Explained, room: usize) -> String {
    let n = explained.shares.len();
    let headings = [
        "part",
        "put in at the end",
        "taken out",
        "turned",
        "carries",
        "put in everywhere",
        "taken out",
        "turned",
        "carries",
    ];
    let mut rows = vec![headings.map(said).to_vec()];
    for row in explained.rows.iter().filter(|row| row.part.at == At::Last) {
        let everywhere = find(explained, row.part.what, row.part.layer, At::All);
        let Some(everywhere) = everywhere else { continue };
        let mut cells = vec![name(&row.part)];
        for row in [row, everywhere] {
            cells.push(share(row.put_in, row.put_in_sd, n));
            cells.push(share(row.taken_out, row.taken_out_sd, n));
            cells.push(format!("{:.0}%", 100.0 * row.turned));
            cells.push(if row.carries { "*" } else { "" }.into());
        }
        rows.push(cells);
    }
    let mut columns = vec![Column::left(0, 8)];
    for _ in 0..2 {
        columns.extend([
            Column::right(2, 12),
            Column::right(2, 12),
            Column::right(2, 6),
            Column::left(1, 7),
        ]);
    }
    table(&columns, &rows, room)
}

/// The stream before each block, by where.
fn stream(explained: &Explained, room: usize) -> String {
    let n = explained.shares.len();
    let headings =
        ["stream, put in", "where the texts differ", "between", "at the end"].map(said).to_vec();
    let mut rows = vec![headings];
    let of_stream = explained.rows.iter().filter(|row| row.part.what == What::Stream);
    for row in of_stream.filter(|row| row.part.at == At::Changed) {
        let at = [At::Changed, At::Between, At::Last];
        let found = at.map(|at| find(explained, What::Stream, row.part.layer, at));
        let cells = found.into_iter().flatten().map(|row| share(row.put_in, row.put_in_sd, n));
        rows.push(std::iter::once(name(&row.part)).chain(cells).collect());
    }
    table(
        &[Column::left(0, 8), Column::right(2, 12), Column::right(2, 12), Column::right(2, 12)],
        &rows,
        room,
    )
}

/// The stream before each block at each position of the user's texts that carries something.
fn positions(own: &OwnTexts, loaded: &Loaded, room: usize) -> String {
    let (t, tokenizer) = (own.pair.clean.len(), loaded.tokenizer.as_ref());
    let layers = own.stream.len() / t;
    let mut rows = vec![vec![said("position"), "--clean".into(), "--other".into()]];
    rows[0].extend((0..layers).map(|layer| said(message!("before {}", layer))));
    for i in 0..t {
        let shares: Vec<f64> = (0..layers).map(|layer| own.stream[layer * t + i].put_in).collect();
        if shares.iter().any(|share| share.abs() >= WORTH) {
            let mut row = vec![i.to_string()];
            row.extend([&own.pair.clean, &own.pair.other].map(|text| shown(tokenizer, text[i])));
            row.extend(shares.iter().map(|share| format!("{share:.2}")));
            rows.push(row);
        }
    }
    let mut columns = vec![Column::right(0, 8), Column::left(2, 8), Column::left(2, 8)];
    columns.resize(rows[0].len(), Column::right(2, 8));
    table(&columns, &rows, room)
}

/// From which head of an earlier block the heads that carry most read.
fn paths(found: &Patched, room: usize) -> String {
    let mut rows = vec![vec![said("from head to head")]];
    rows[0].extend(found.receivers.iter().map(|[layer, head]| format!("{layer}.{head}")));
    for Sender { from: [layer, head], shares } in &found.paths {
        let cells = shares.iter().map(|share| share.map_or("".into(), |x| format!("{x:.2}")));
        rows.push(std::iter::once(format!("{layer}.{head}")).chain(cells).collect());
    }
    let mut columns = vec![Column::left(0, 8)];
    columns.resize(rows[0].len(), Column::right(2, 6));
    let mut text = table(&columns, &rows, room);
    text.tell("What a head at the end, a column, reads from a head before it, a row: its share of the answer.\n");
    text
}

fn conclusion(found: &Patched) -> String {
    let explained = &found.explained;
    if let Some(own) = &found.own {
        let [clean, other] = own.differences;
        if (clean - other).abs() < LITTLE {
            return said(
                "The scores of the two texts hardly differ: shares of so little mean nothing.\n",
            );
        }
        return said("One pair shows where to look; it proves nothing about others.\n");
    }
    if explained.right.len() < FEWEST_PAIRS {
        let few = message!("With fewer than {} pairs nothing is concluded.\n", FEWEST_PAIRS);
        return said(few);
    }
    let carriers = |at: At, is_head: bool| {
        let rows = explained.rows.iter().filter(move |row| {
            let head = matches!(row.part.what, What::Head(_));
            row.carries && row.part.at == at && head == is_head && row.part.what != What::Stream
        });
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by(|a, b| b.put_in.total_cmp(&a.put_in));
        rows.iter().map(|row| name(&row.part)).collect::<Vec<_>>().join(", ")
    };
    let mut text = String::new();
    let heads = carriers(At::Last, true);
    let least = 100.0 * LEAST;
    match heads.is_empty() {
        true => text.tell(message!(
            "No single head carries more than {} % of the answer at the end, beyond chance.\n",
            least
        )),
        false => text.tell(message!("Heads that carry the answer at the end: {}.\n", heads)),
    }
    let elsewhere = carriers(At::All, true);
    if !elsewhere.is_empty() {
        text.tell(message!("Heads that carry it, changed everywhere: {}.\n", elsewhere));
    }
    let others = carriers(At::Last, false);
    if !others.is_empty() {
        text.tell(message!("Taken together, or as MLPs, at the end: {}.\n", others));
    }
    text
}

pub(super) fn json(found: &Patched, loaded: &Loaded) -> String {
    let explained = &found.explained;
    let mut line = json!({
        "event": "patch",
        "data": found.about.to_string(),
        "tried": explained.tried,
        "pairs": explained.right.len(),
        "parts": explained.rows,
        "receivers": found.receivers,
        "paths": found.paths,
    });
    if let Some(own) = &found.own {
        let t = own.pair.clean.len();
        let rows = |side: fn(&Share) -> f64| -> Vec<Vec<f64>> {
            own.stream.chunks(t).map(|row| row.iter().map(side).collect()).collect()
        };
        let text = |token| shown(loaded.tokenizer.as_ref(), token);
        line["clean"] = json!(own.pair.clean);
        line["other"] = json!(own.pair.other);
        line["answers"] = json!(own.pair.answers);
        line["answer_texts"] = json!(own.pair.answers.map(text));
        line["differences"] = json!(own.differences);
        line["stream"] = json!({
            "put_in": rows(|share| share.put_in),
            "taken_out": rows(|share| share.taken_out),
        });
    }
    json_line(&line)
}
