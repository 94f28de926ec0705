//! The text of `--help` in Chinese, line by line: what clap writes, and what stands next to flags.

use super::CATALOGUE;
use llm_messages::columns::{width, wrapped};

/// The text that clap made without breaking lines, in lines of at most `columns` columns.
pub(crate) fn help(text: &str, columns: usize) -> String {
    text.split_inclusive('\n').map(|line| help_line(line.trim_end(), columns) + "\n").collect()
}

fn help_line(line: &str, columns: usize) -> String {
    let begin = line.len() - line.trim_start().len();
    // Behind a flag or a verb and two spaces stands what it is, behind a value and a colon too.
    let joint = if line[begin..].starts_with("- ") { ": " } else { "  " };
    let gap = line[begin..].find(joint).map(|at| begin + at + 1);
    let beside = gap.map(|at| line.len() - line[at..].trim_start().len());
    let (beside, text) = line.split_at(beside.unwrap_or(begin));
    wrapped(&format!("{beside}{}", about(text)), columns, width(beside))
}

/// What a flag is; the brackets at its end are said one by one.
pub(crate) fn about(text: &str) -> String {
    let (mut text, mut brackets) = (text, Vec::new());
    while let Some(at) = text.ends_with(']').then(|| text.rfind('[')).flatten() {
        brackets.insert(0, &text[at..]);
        text = text[..at].trim_end();
    }
    let said = |part: &str| CATALOGUE.words(part).unwrap_or_else(|| part.into());
    let parts = std::iter::once(text).filter(|text| !text.is_empty()).chain(brackets).map(said);
    parts.collect::<Vec<_>>().join(" ")
}
