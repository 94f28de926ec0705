//! clap's errors in one line.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use llm_core::base::Message;
use llm_core::base::escape::one_line;
use llm_core::message;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

/// How clap begins what may have been meant.
const SIMILAR: &str = "a similar argument exists";

/// clap's several lines as one: what is wrong, and what may have been meant.
pub(crate) fn in_one_line(e: &clap::Error, verbs: &[String]) -> Message {
    let text = |kind| match e.get(kind) {
        Some(ContextValue::String(text)) => Some(one_line(text)),
        Some(ContextValue::Strings(texts)) => texts.first().map(|t| one_line(t)),
        _ => None,
    };
    // `--steps <N>` without its placeholder
    let flag =
        || text(ContextKind::InvalidArg).map(|a| a.split(' ').next().unwrap_or("").to_string());
    match (e.kind(), flag(), text(ContextKind::InvalidValue)) {
        (ErrorKind::ValueValidation, Some(flag), Some(value)) => {
            let why = std::error::Error::source(e);
            let why = why.map_or_else(|| message!(""), |c| reason(c, &value));
            match open_range(&why.to_string()) {
                Some(least) => message!("{} {}: it must be {} or more", flag, value, least),
                None => message!("{} {}: {}", flag, value, why),
            }
        }
        (ErrorKind::MissingRequiredArgument, Some(flag), _) => message!("{} is needed", flag),
        (ErrorKind::InvalidSubcommand | ErrorKind::ArgumentConflict, ..)
            if let Some(word) = text(ContextKind::InvalidSubcommand) =>
        {
            let elsewhere = VERBS_ELSEWHERE.iter().find(|(theirs, _)| *theirs == word);
            let near = verbs.iter().find(|verb| are_near(&word, verb)).map(|verb| verb.to_string());
            let near = near.filter(|near| *near != word);
            if let Some(near) = near.or(elsewhere.map(|(_, ours)| ours.to_string())) {
                return message!("unexpected '{}'; the nearest verb is {}", word, near);
            }
            message!(
                "unexpected '{}'; verbs come first ({}), and every file has its own --data",
                word,
                verbs.join(", ")
            )
        }
        (ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, ..) => {
            message!("a verb is missing: {}", verbs.join(", "))
        }
        (_, flag, _) => {
            let meant = text(ContextKind::SuggestedArg);
            let is_near = flag.zip(meant).is_none_or(|(typed, meant)| are_near(&typed, &meant));
            plain_lines(&e.render().to_string(), is_near)
        }
    }
}

/// What other programs call our verbs.
const VERBS_ELSEWHERE: [(&str, &str); 7] = [
    ("sample", "generate"),
    ("run", "generate"),
    ("finetune", "train"),
    ("fit", "train"),
    ("evaluate", "eval"),
    ("test", "eval"),
    ("convert", "export"),
];

/// Whether a user may have typed the one and meant the other. clap finds more words similar.
fn are_near(typed: &str, meant: &str) -> bool {
    let [typed, meant] = [typed, meant].map(|flag| flag.trim_start_matches('-'));
    let distance = strsim::damerau_levenshtein(typed, meant);
    5 * distance <= 2 * typed.chars().count().max(meant.chars().count())
}

/// Why `value` is not accepted.
fn reason(cause: &(dyn std::error::Error + 'static), value: &str) -> Message {
    if cause.is::<ParseFloatError>() && !value.is_empty() {
        return "not a number".into();
    }
    if let Some(whole) = cause.downcast_ref::<ParseIntError>() {
        match whole.kind() {
            IntErrorKind::InvalidDigit => return "not a whole number of 0 or more".into(),
            IntErrorKind::PosOverflow => return "too large a number".into(),
            IntErrorKind::Empty => return "empty".into(),
            _ => {}
        }
    }
    Message::words(one_line(&cause.to_string()))
}

/// Where the range begins that clap writes out to the largest number there is.
fn open_range(why: &str) -> Option<&str> {
    let ends = [u64::from(u32::MAX), i64::MAX as u64, u64::MAX].map(|end| end.to_string());
    let (range, end) = why.split_once(" is not in ")?.1.split_once("..")?;
    ends.iter().any(|largest| end.trim_start_matches('=') == largest).then_some(range)
}

/// The lines in one; without the word on what was meant, unless `is_near`.
fn plain_lines(text: &str, is_near: bool) -> Message {
    let parts = text
        .lines()
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .map(|line| line.trim().trim_start_matches("error: ").trim_start_matches("tip: "))
        .filter(|line| !line.is_empty() && (is_near || !line.starts_with(SIMILAR)))
        .map(|line| Message::words(one_line(line)));
    Message::joined("{}; {}", parts).unwrap_or_else(|| message!(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_suggested_may_have_been_meant() {
        for (typed, meant) in [("--stesp", "--steps"), ("--lernrate", "--learning-rate")] {
            assert!(are_near(typed, meant), "{typed} {meant}");
        }
        for (typed, meant) in [("--compile", "--prompt-file"), ("--gpu", "--topp")] {
            assert!(!are_near(typed, meant), "{typed} {meant}");
        }
    }
}
