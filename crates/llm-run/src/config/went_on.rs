//! The settings of a run that went on in its own folder.

use super::sheet::{Beside, Sheet};
use crate::folder::{setting, whole_setting};
use crate::options::Options;
use crate::plan::Decided;
use llm_core::base::escape::one_line;
use toml::Table;

/// A run before it goes on in its own folder.
#[derive(Debug)]
pub struct Before {
    /// What `config.toml` held.
    pub text: String,
    /// The steps that were planned in all.
    pub planned: u64,
}

/// The settings of a run that went on in its own folder: all of it, as it was begun and with the
/// steps that it has now, not the part that comes. What was `changed` on the way, by a command that
/// went on, stands above them: the text alone makes the run with the last value from the start.
///
/// Nothing when what the folder held cannot be read.
pub fn whole_config(
    head: &str,
    decided: &Decided<'_>,
    options: &Options,
    threads: usize,
    beside: Vec<Beside>,
    before: &Before,
    changed: &[String],
) -> Option<String> {
    let old: Table = before.text.parse().ok()?;
    let begun = whole_setting(&old, "steps")?;
    let steps = begun.saturating_add(decided.recipe.total_steps).checked_sub(before.planned)?;
    let mut sheet = Sheet::of(&Decided { steps, ..decided.clone() }, options, threads, beside);
    for (table, key) in BEGUN {
        sheet.table(table);
        sheet.replace(key, setting(&old, key).cloned());
    }
    if options.preset.is_none() {
        sheet.replace("preset", setting(&old, "preset").cloned());
    }
    let lines = before.text.lines().filter_map(|line| line.strip_prefix("# "));
    sheet.remarks = lines.filter(|line| line.starts_with(REMARK)).map(String::from).collect();
    if !changed.is_empty() {
        let step = steps.saturating_sub(decided.steps);
        sheet.remarks.push(format!("{REMARK}{step}: {}", one_line(&changed.join("; "))));
    }
    Some(sheet.text(head))
}

/// What a run began with, and no command that goes on has a say in; each with its table.
const BEGUN: [(&str, &str); 7] = [
    ("data", "tokenizer"),
    ("data", "vocab_size"),
    ("data", "bpe_vocab"),
    ("data", "bpe_merges"),
    ("training", "seed"),
    ("training", "load"),
    ("training", "lora"),
];
/// How a remark begins that says what was changed on the way.
const REMARK: &str = "after step ";
