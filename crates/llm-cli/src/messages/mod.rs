//! The words of both languages. What is measured, trained or followed is data elsewhere; here it
//! gets its words.
//!
//! What is printed is said once, in the language that was chosen: [`said`] is the one place that does.
//! Pages say everything twice, see [`in_both`].
//!
//! | file | holds |
//! |---|---|
//! | `zh/` | Chinese by template; patterns of what others write: clap, the system, TOML, JSON |
//! | `help.rs` | the lines of `--help` |
//!
//! The pages of a run and of a comparison have their words in `llm-report`.

mod help;

#[cfg(test)]
pub(crate) use help::about;
pub(crate) use help::help;

use crate::lang::Lang;
use llm_core::base::escape::one_line;
use llm_core::base::{Language, Message};
use llm_core::message;
use llm_messages::{Catalogue, LIBRARIES};
use llm_report::Bilingual;
use std::sync::LazyLock;

/// Chinese by template, and patterns of what clap, the TOML reader and the system write.
static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    let [libraries, run] = LIBRARIES;
    Catalogue::new(&[
        include_str!("zh/cli.json"),
        include_str!("zh/help.json"),
        libraries,
        run,
        include_str!("zh/foreign.json"),
    ])
});

/// A language, with options as the flags that they are.
struct Terminal(Lang);

impl Language for Terminal {
    fn translation(&self, template: &str) -> Option<&str> {
        CATALOGUE.translation(template).filter(|_| self.0 == Lang::Zh)
    }

    fn words(&self, words: &str) -> Option<String> {
        let said = CATALOGUE.translation(words).map(String::from);
        said.or_else(|| CATALOGUE.words(words)).filter(|_| self.0 == Lang::Zh)
    }

    fn name(&self, name: &str) -> String {
        one_line(name)
    }

    fn option(&self, name: &str) -> String {
        format!("--{}", name.replace('_', "-"))
    }
}

/// A message in the language that was chosen.
pub(crate) fn said(message: impl Into<Message>) -> String {
    message.into().said(&Terminal(Lang::chosen()))
}

/// A text that grows, in the language that was chosen.
pub(crate) trait Tell {
    fn tell(&mut self, more: impl Into<Message>);
}

impl Tell for String {
    fn tell(&mut self, more: impl Into<Message>) {
        self.push_str(&said(more));
    }
}

/// A message in English, its options as flags.
pub(crate) fn spelled(message: &Message) -> String {
    message.said(&Terminal(Lang::En))
}

/// A message in both languages, for a page.
pub(crate) fn in_both(message: impl Into<Message>) -> Bilingual {
    let message = message.into();
    Bilingual::new(spelled(&message), message.said(&Terminal(Lang::Zh)))
}

/// A time as a person says it: `0.4 s`, `38 s`, `2 min 5 s`, `1 h 3 min`.
pub(crate) fn lasting(seconds: f64) -> Message {
    if seconds < 9.95 {
        return message!("{:.1} s", seconds);
    }
    let whole = seconds.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, seconds) => message!("{} s", seconds),
        (0, minutes, seconds) => message!("{} min {} s", minutes, seconds),
        (hours, minutes, _) => message!("{} h {} min", hours, minutes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_said_as_a_person_says_it() {
        let said = [0.04, 9.94, 9.96, 59.6, 125.0, 3780.0].map(|t| lasting(t).to_string());
        assert_eq!(said, ["0.0 s", "9.9 s", "10 s", "1 min 0 s", "2 min 5 s", "1 h 3 min"]);
    }
}
