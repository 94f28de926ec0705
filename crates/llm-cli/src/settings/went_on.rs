//! The settings of a run that went on in its own folder.

use super::effective::Sheet;
use crate::args::TrainArgs;
use crate::escape::one_line;
use crate::plan::Decided;
use crate::program::Program;
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
    program: &Program,
    decided: &Decided<'_>,
    args: &TrainArgs,
    threads: usize,
    before: &Before,
    changed: &[String],
) -> Option<String> {
    let old: Table = before.text.parse().ok()?;
    let old_of = |key: &str| old.values().find_map(|table| table.as_table()?.get(key));
    let begun = u64::try_from(old_of("steps")?.as_integer()?).ok()?;
    let steps = begun.saturating_add(decided.recipe.total_steps).checked_sub(before.planned)?;
    let mut sheet = Sheet::of(&Decided { steps, ..*decided }, args, threads);
    for (table, key) in BEGUN {
        sheet.table(table);
        sheet.replace(key, old_of(key).cloned());
    }
    if args.recipe.preset.is_none() {
        sheet.replace("preset", old_of("preset").cloned());
    }
    let told = before.text.lines().filter_map(|line| line.strip_prefix(REMARK));
    sheet.remarks = told.map(|rest| format!("{}{rest}", &REMARK[2..])).collect();
    if !changed.is_empty() {
        let (step, what) = (steps - decided.steps.min(steps), changed.join("; "));
        sheet.remarks.push(format!("{}{step}: {}", &REMARK[2..], one_line(&what)));
    }
    Some(sheet.text(program))
}

/// What a run began with, and no command that goes on has a say in; each with its table.
const BEGUN: [(&str, &str); 6] = [
    ("data", "tokenizer"),
    ("data", "vocab_size"),
    ("data", "bpe_vocab"),
    ("data", "bpe_merges"),
    ("training", "seed"),
    ("training", "load"),
];
/// How a line begins that says what was changed on the way.
const REMARK: &str = "# after step ";
