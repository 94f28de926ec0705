//! What stands behind an error: the system's reasons, and errors of other libraries.

use llm_core::base::{Language, Message};
use std::error::Error;
use std::io;

/// The system's reason, without its number; a reason of a library's own as the message that it is.
pub fn system(e: &io::Error, language: &dyn Language) -> String {
    match e.get_ref().and_then(|own| own.downcast_ref::<Message>()) {
        Some(message) => message.said(language),
        None => word(&reason(&e.to_string()), language),
    }
}

/// A reason as a part of a line: without the system's number, and without the capital letter and
/// the full stop of a sentence.
pub fn reason(text: &str) -> String {
    let plain = text.split(" (os error").next().unwrap_or(text);
    let plain = plain.trim_end_matches(['.', '\n', ' ']);
    let mut chars = plain.chars();
    chars.next().map_or_else(String::new, |c| c.to_lowercase().chain(chars).collect())
}

/// A word or a reason that has a translation as it stands, or none.
pub(super) fn word(text: &str, language: &dyn Language) -> String {
    language.translation(text).unwrap_or(text).into()
}

/// An error of somebody else, and its causes.
pub(super) fn chain(e: &(dyn Error + 'static), language: &dyn Language) -> String {
    let all = std::iter::successors(Some(e), |&e| e.source());
    let said = all.map(|e| match (e.downcast_ref::<io::Error>(), e.downcast_ref::<Message>()) {
        (Some(e), _) => system(e, language),
        (None, Some(message)) => message.said(language),
        (None, None) => word(&reason(&e.to_string()), language),
    });
    said.collect::<Vec<_>>().join("：")
}
