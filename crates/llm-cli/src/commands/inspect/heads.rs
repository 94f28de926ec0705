//! `inspect heads`.

use super::super::loaded::loaded;
use crate::args::MeasuredArgs;
use crate::commands::scored::measured_on;
use crate::commands::written::{check_page, page_of, write_page};
use crate::console::{json_line, print, room, show};
use crate::error::{Result, RunError};
use crate::messages::{Tell, in_both, said};
use crate::program::Program;
use crate::signals::Signals;
use llm_core::base::{Message, memory, thousands};
use llm_core::message;
use llm_lens::{Column, HeadsReport, MeasuredHead, Role, Spread, measure_heads};
use llm_messages::table::{Column as Shown, table};
use llm_report::{Fact, HeadRow, Page, named, role_label};
use serde_json::json;
use std::path::Path;

/// Tokens to measure on when nothing is said.
const TOKENS: u64 = 16_384;
/// Longest windows that are measured: places are marked for every pair of tokens.
const LONGEST: usize = 1024;

/// Measures what each head does, and prints it.
pub(super) fn heads(program: &Program, args: &MeasuredArgs) -> Result<()> {
    let signals = Signals::listen();
    let (path, loaded) = loaded(program, &args.load, &args.apart, &args.output)?;
    check_page(args.html.as_deref())?;
    let (data, name) = measured_on(&loaded, &path, &args.data, "heads")?;
    let model = &loaded.run.model;
    let t = model.config().seq_len.min(LONGEST);
    // Marks, scores and weights of one window.
    let squares = 10 * (t as u64).pow(2);
    memory::require(model.inference_memory(1, t).saturating_add(squares))
        .map_err(|e| RunError::Memory(e, message!("the size of the model")))?;
    let limit = usize::try_from(args.tokens.unwrap_or(TOKENS)).unwrap_or(usize::MAX);
    let pieces = data.pieces(limit, LONGEST);
    let tokenizer = loaded.tokenizer.as_ref();
    signals.heed();
    let report = measure_heads(model, tokenizer, pieces, || signals.pending().is_some())?;
    signals.check()?;
    let n = report.windows;
    let windows = if n == 1 { message!("1 window") } else { message!("{} windows", thousands(n)) };
    let measured = message!("{}: {} tokens in {}", name, thousands(report.tokens), windows);
    let page = || page(program, &path, &measured, &report);
    write_page(args.html.as_deref(), args.output.quiet(), page)?;
    if args.json || args.output.json() {
        print(json(&name.to_string(), &report))
    } else {
        show(&text(&measured, &report, room()))
    }
}

fn json(name: &str, report: &HeadsReport) -> String {
    let object = |columns: &[(Column, f64)]| {
        let entry = |(column, value): &(Column, f64)| (column.name().to_string(), json!(value));
        serde_json::Value::Object(columns.iter().map(entry).collect())
    };
    let head = |row: &MeasuredHead| {
        let role = HeadRow::from(row).role;
        json!({ "layer": row.layer, "head": row.head, "scores": object(&row.scores), "role": role })
    };
    let line = json!({
        "event": "heads",
        "data": name,
        "windows": report.windows,
        "scored": report.tokens,
        "uniform": object(&report.uniform),
        "heads": report.rows.iter().map(head).collect::<Vec<_>>(),
        "outputs": report.spreads,
    });
    json_line(&line)
}

fn text(measured: &Message, report: &HeadsReport, room: usize) -> String {
    let cells = |name: String, columns: &[(Column, f64)]| {
        let value = |(column, value): &(Column, f64)| match column {
            Column::Entropy => format!("{value:.2}"),
            Column::Weight(_) | Column::EntropyShare => format!("{:.0}%", 100.0 * value),
        };
        std::iter::once(name).chain(columns.iter().map(value)).collect::<Vec<_>>()
    };
    let headings = report.uniform.iter().map(|(column, _)| said(heading(*column)));
    let mut rows = vec![std::iter::once(said("head")).chain(headings).collect()];
    rows.extend(report.rows.iter().map(|row| cells(name(row), &row.scores)));
    rows.push(cells(said("even"), &report.uniform));
    let mut columns = vec![Shown::left(0, 5)];
    columns.resize(1 + report.uniform.len(), Shown::right(1, 6));
    let mut text = said(message!("measured on {}", measured)) + "\n\n";
    text.push_str(&table(&columns, &rows, room));
    text.tell(
        "\nMean weight on such places; even: what even attention to everything puts there.\n\
         Then the entropy of the weights in nats, and as a share of its most, ln(i + 1).\n",
    );
    if report.uniform.iter().any(|(column, _)| *column == Column::Weight(Role::Answer)) {
        text.tell("answer is measured where the story has to tell a word that was said before.\n");
    }
    text.push('\n');
    for row in &report.rows {
        let role = match (row.role, row.is_off) {
            (_, true) => said("switched off"),
            (None, false) => said("nothing stands out"),
            (Some(role), false) => {
                let found = report.evidence(row).map(|(score, even)| {
                    said(message!(": {:.0} %, even {:.0} %", 100.0 * score, 100.0 * even))
                });
                said(role_label(role)) + &found.unwrap_or_default()
            }
        };
        text.push_str(&format!("{:<7}{role}\n", name(row)));
    }
    text.tell("\noutputs           mean      std      min      max\n");
    for (layer, spreads) in report.spreads.iter().enumerate() {
        let line = |name: &str, s: &Spread| {
            let Spread { mean, std, min, max } = s;
            let layer = said(message!("layer {}", layer));
            format!("{layer}  {name:<5} {mean:>8.3} {std:>8.3} {min:>8.3} {max:>8.3}\n")
        };
        text.push_str(&line("A", &spreads.concatenated));
        text.push_str(&line("A·W_o", &spreads.projected));
    }
    text.tell("A: the heads side by side; A·W_o: mixed, the same shape with other numbers.\n");
    text
}

/// `layer.head`.
fn name(row: &MeasuredHead) -> String {
    format!("{}.{}", row.layer, row.head)
}

/// A column's heading.
fn heading(column: Column) -> &'static str {
    match column {
        Column::Weight(Role::Previous) => "prev",
        Column::Weight(Role::Separator) => "sep",
        Column::Weight(role) => role.name(),
        Column::Entropy => "nats",
        Column::EntropyShare => "of ln",
    }
}

fn page(program: &Program, path: &Path, measured: &Message, report: &HeadsReport) -> Page {
    let mut facts = vec![Fact::new(in_both("Measured on"), in_both(measured))];
    for (layer, spreads) in report.spreads.iter().enumerate() {
        let shown = |s: &Spread| {
            let [mean, std, min, max] = [s.mean, s.std, s.min, s.max].map(|x| format!("{x:.3}"));
            message!("mean {}, std {}, {} .. {}", mean, std, min, max)
        };
        let (a, projected) = (shown(&spreads.concatenated), shown(&spreads.projected));
        let value = in_both(message!("A: {} | A·W_o: {}", a, projected));
        facts.push(Fact::new(in_both(message!("Outputs of layer {}", layer)), value));
    }
    Page {
        heads: report.rows.iter().map(HeadRow::from).collect(),
        even: named(&report.uniform),
        ..page_of(path, program, "heads", facts)
    }
}
