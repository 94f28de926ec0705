//! What a comparison found, for a person at a terminal.

use crate::lang::Lang;
use crate::messages::{Tell, said};
use llm_core::base::thousands;
use llm_core::message;
use llm_messages::table::{Column, table};
use llm_report::{Compared, Comparison, GroupSpread, fact_label};

/// Everything for a person at a terminal.
pub(super) fn text(comparison: &Comparison, room: usize) -> String {
    let mut text = main_table(comparison, room);
    text.push_str(&costs_table(comparison, room));
    text.push_str(&facts_table(comparison, room));
    if let Some([frequent, last]) = comparison.without_reading {
        text.tell(message!(
            "without reading: most frequent word {:.1} %, last mentioned {:.1} %\n",
            100.0 * frequent,
            100.0 * last
        ));
    }
    if let Some(floor) = comparison.floor {
        text.tell(message!(
            "floor: {:.4} nats, the stories' own entropy; no model's expected loss is below\n",
            floor
        ));
    }
    if !text.ends_with("\n\n") {
        text.push('\n');
    }
    let laws = comparison.ladder.iter().flat_map(|of| &of.laws).flat_map(|law| &law.said);
    for line in laws.chain(&comparison.conclusion) {
        text.push_str(&format!("{}\n", Lang::chosen().of(line)));
    }
    text
}

fn main_table(comparison: &Comparison, room: usize) -> String {
    let has_facts = comparison.rows.iter().any(|row| !row.facts_total.is_empty());
    let (mut columns, mut first) = match comparison.by_heads {
        true => (vec![Column::right(0, 5), Column::right(1, 5)], vec![said("heads"), "D".into()]),
        false => (vec![Column::left(0, 0)], vec![comparison.differ_in.clone()]),
    };
    let is_ladder = comparison.ladder.is_some();
    columns.push(Column::right(1, 12));
    columns.extend([Column::right(2, 0); 2].into_iter().filter(|_| is_ladder));
    columns.extend([Column::right(1, 7), Column::left(3, 34)]);
    columns.extend(has_facts.then_some(Column::left(3, 30)));
    columns.push(Column::right(1, 7));
    first.push(said("parameters"));
    first.extend(["N", "tokens"].map(said).into_iter().filter(|_| is_ladder));
    first.extend(["seeds", "validation loss (min–max)"].map(said));
    first.extend(has_facts.then(|| said("facts right (min–max)")));
    first.push(said("s/run"));
    let cells = |row: &Compared| {
        let loss = GroupSpread::of(&row.loss).map_or(String::new(), |s| shown(&s, 1.0, 4, ""));
        let facts = GroupSpread::of(&row.facts_total);
        let facts = facts.map_or("–".to_string(), |s| shown(&s, 100.0, 1, " %"));
        let seconds = GroupSpread::of(&row.seconds).map_or(0.0, |s| s.mean);
        let mut cells = match comparison.by_heads {
            true => vec![row.n_heads.to_string(), row.head_dim.to_string()],
            false => vec![row.values.clone()],
        };
        cells.push(thousands(row.parameters));
        let rung = row.rung.iter().flat_map(|of| [of.block_parameters, of.learned]);
        cells.extend(rung.map(thousands));
        cells.extend([row.seeds.len().to_string(), loss]);
        cells.extend(has_facts.then_some(facts));
        cells.push(format!("{seconds:.1}"));
        cells
    };
    let rows: Vec<_> = std::iter::once(first).chain(comparison.rows.iter().map(cells)).collect();
    let below = match is_ladder {
        true => {
            "(mean ± sample standard deviation over the seeds; N: parameters of the blocks, without \
             tables and output head)\n\n"
        }
        false => {
            "(mean ± sample standard deviation over the seeds; all other settings are the same)\n\n"
        }
    };
    table(&columns, &rows, room) + &said(below)
}

/// The table for a person; nothing where no kinds are compared.
fn costs_table(comparison: &Comparison, room: usize) -> String {
    let costs = || comparison.rows.iter().filter_map(|row| Some((row, row.costs.as_ref()?)));
    let Some((_, first)) = costs().next() else { return String::new() };
    let mean = |values: &[f64]| GroupSpread::of(values).map(|spread| spread.mean);
    let headings = ["ms/step", "tokens/s", "cache B/token"].map(said);
    let lengths = first.at_lengths.iter().map(|(times, _)| said(message!("loss at {}×", times)));
    let heading = std::iter::once(comparison.differ_in.clone()).chain(headings).chain(lengths);
    let mut rows = vec![heading.collect::<Vec<_>>()];
    for (row, of) in costs() {
        let ms = mean(&of.step_ms).unwrap_or(0.0);
        let speed = mean(&of.tokens_per_s).unwrap_or(0.0).round() as u64;
        let mut cells = vec![row.values.clone(), format!("{ms:.2}"), thousands(speed)];
        cells.push(thousands(of.cache_bytes));
        cells.extend(of.at_lengths.iter().map(|(times, losses)| match mean(losses) {
            Some(loss) => format!("{loss:.4}"),
            None if of.refused && *times > 1 => said("refused"),
            None => "–".into(),
        }));
        rows.push(cells);
    }
    let mut columns = vec![Column::left(0, 0), Column::right(2, 8), Column::right(2, 9)];
    columns.push(Column::right(2, 13));
    columns.extend(first.at_lengths.iter().map(|_| Column::right(2, 10)));
    let mut text = table(&columns, &rows, room);
    text.tell(
        "(loss in windows of 1, 2 and 4 times the length that was learned, over the same tokens)\n",
    );
    if costs().any(|(_, of)| of.refused) {
        text.tell("(refused: a table of positions ends at the length that was learned)\n");
    }
    text + "\n"
}

fn facts_table(comparison: &Comparison, room: usize) -> String {
    let kinds = comparison.rows.first().map_or(&[][..], |row| &row.facts);
    if kinds.is_empty() {
        return String::new();
    }
    let row = |name: String, places: String, of: &dyn Fn(&Compared) -> String| {
        [name, places].into_iter().chain(comparison.rows.iter().map(of)).collect::<Vec<_>>()
    };
    let mut rows = vec![row(said("facts right, %"), said("places"), &|row| said(&row.name))];
    for (kind, _) in kinds {
        let places = kind.places().to_string();
        rows.push(row(said(fact_label(*kind)), places, &|row| cell(row.facts_of(*kind))));
    }
    rows.push(row(said("all"), String::new(), &|row| cell(&row.facts_total)));
    let mut columns = vec![Column::left(0, 14), Column::right(2, 6)];
    columns.resize(2 + comparison.rows.len(), Column::right(2, 13));
    table(&columns, &rows, room)
}

fn cell(values: &[f64]) -> String {
    match GroupSpread::of(values) {
        Some(GroupSpread { mean, deviation: Some(sd), .. }) => {
            format!("{:.1} ± {:.1}", 100.0 * mean, 100.0 * sd)
        }
        Some(GroupSpread { mean, .. }) => format!("{:.1}", 100.0 * mean),
        None => "–".to_string(),
    }
}

/// Mean ± deviation, and the range.
fn shown(spread: &GroupSpread, scale: f64, decimals: usize, unit: &str) -> String {
    let of = |x: f64| format!("{:.decimals$}", scale * x);
    let GroupSpread { mean, deviation, low, high } = *spread;
    match deviation {
        Some(sd) => format!("{} ± {}{unit} ({}–{})", of(mean), of(sd), of(low), of(high)),
        None => format!("{}{unit}", of(mean)),
    }
}
