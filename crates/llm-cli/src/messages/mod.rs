//! The words of both languages. What is measured, trained or followed is data elsewhere; here it
//! gets its words.
//!
//! Pages and `compare.json` say everything twice: their sentences stand side by side, a function
//! each. What is printed is said once, in the language that was chosen: it is written in English
//! where it is known, and [`said`] finds the Chinese in the catalogue.
//!
//! | file | holds |
//! |---|---|
//! | `train.rs` | the bar of a run |
//! | `inspect.rs` | labels of pages about heads |
//! | `compare.rs` | what may be concluded about numbers of heads |
//! | `trace.rs` | one score of attention, step by step |
//! | `catalogue.rs`, `zh/` | Chinese for what is printed: results, help, errors |
//! | `help.rs` | the lines of `--help` |
//!
//! A page of a run has its words in `llm-report`.

mod catalogue;
pub(crate) mod compare;
mod help;
pub(crate) mod inspect;
pub(crate) mod trace;
pub(crate) mod train;

#[cfg(test)]
pub(crate) use help::about;
pub(crate) use help::help;

use crate::lang::Lang;
use llm_core::base::{Language, Message};
use llm_report::Bilingual;
use llm_stories::FactKind;

/// A text in the language that was chosen, line by line.
pub(crate) fn said(text: &str) -> String {
    let line = |line: &str| catalogue::chinese(line).unwrap_or_else(|| line.into());
    match Lang::chosen() {
        Lang::En => text.into(),
        Lang::Zh => text.split('\n').map(line).collect::<Vec<_>>().join("\n"),
    }
}

/// Options as the flags that they are.
struct Flags;

impl Language for Flags {
    fn translation(&self, _: &str) -> Option<&str> {
        None
    }

    fn option(&self, name: &str) -> String {
        format!("--{}", name.replace('_', "-"))
    }
}

/// Chinese with options as flags.
struct Chinese;

impl Language for Chinese {
    fn translation(&self, template: &str) -> Option<&str> {
        catalogue::CATALOGUE.of_template(template)
    }

    fn option(&self, name: &str) -> String {
        Flags.option(name)
    }
}

/// A message in the language that was chosen. One that has no translation by its template is found by
/// its finished text.
pub(crate) fn in_language(message: &Message) -> String {
    match Lang::chosen() {
        Lang::Zh if message.is_known(&Chinese) => message.said(&Chinese),
        _ => said(&spelled(message)),
    }
}

/// A message in English, its options as flags.
pub(crate) fn spelled(message: &Message) -> String {
    message.said(&Flags)
}

/// A message for a page, its options as flags.
pub(crate) fn said_twice(message: &Message) -> Bilingual {
    Bilingual::new(spelled(message), message.said(&Chinese))
}

/// A kind of fact in the language that was chosen.
pub(crate) fn fact_said(kind: FactKind) -> String {
    Lang::said(llm_report::fact_label(kind))
}

/// A text that is known in English, for a page.
pub(crate) fn in_both(text: &str) -> Bilingual {
    Bilingual::new(text, in_chinese(text).unwrap_or_else(|| text.into()))
}

/// What `said` finds for a line, for the test that reads the sources.
pub fn in_chinese(line: &str) -> Option<String> {
    catalogue::chinese(line)
}

/// The English of the catalogue, for the same.
pub fn sentences() -> impl Iterator<Item = &'static str> {
    catalogue::CATALOGUE.pairs().iter().map(|pair| pair.en.as_str())
}

/// `1 head`, `2 heads`.
pub(crate) fn count(n: usize, what: &str) -> String {
    format!("{n} {}", plural(n as u64, what))
}

/// `head` of one, `heads` of more or none.
pub(crate) fn plural(n: u64, what: &str) -> String {
    format!("{what}{}", if n == 1 { "" } else { "s" })
}

/// A time as a person says it: `0.4 s`, `38 s`, `2 min 5 s`, `1 h 3 min`.
pub(crate) fn lasting(seconds: f64) -> String {
    if seconds < 9.95 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_said_as_a_person_says_it() {
        let said = [0.04, 9.94, 9.96, 59.6, 125.0, 3780.0].map(lasting);
        assert_eq!(said, ["0.0 s", "9.9 s", "10 s", "1 min 0 s", "2 min 5 s", "1 h 3 min"]);
    }
}
