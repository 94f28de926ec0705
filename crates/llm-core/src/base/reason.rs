//! Reasons of others, as parts of a sentence.

use super::Message;
use std::error::Error;
use std::io::{self, ErrorKind};

/// The reason of an error that is not one of this crate's kinds: a [`Message`] as it is, anything
/// else as words that may have a translation.
pub fn reason_of(e: &(dyn Error + 'static)) -> Message {
    match (e.downcast_ref::<Message>(), e.downcast_ref::<io::Error>()) {
        (Some(own), _) => own.clone(),
        (_, Some(e)) => system_reason(e),
        _ => Message::words(plain_reason(&e.to_string())),
    }
}

/// The system's reason as a part of a line, without its number; a reason of a library's own as it is.
pub fn system_reason(e: &io::Error) -> Message {
    match e.get_ref().and_then(|own| own.downcast_ref::<Message>()) {
        Some(own) => own.clone(),
        None if cfg!(windows) => Message::words(usual_reason(e.kind(), &e.to_string())),
        None => Message::words(plain_reason(&e.to_string())),
    }
}

/// Windows says its reasons in its own language. The usual ones are said as elsewhere: those words have
/// a translation.
fn usual_reason(kind: ErrorKind, said: &str) -> String {
    match kind {
        ErrorKind::NotFound => "no such file or directory".into(),
        ErrorKind::PermissionDenied => "permission denied".into(),
        ErrorKind::StorageFull => "no space left on device".into(),
        _ => plain_reason(said),
    }
}

/// A sentence of others as a part of a line: without the system's number, the capital letter and the
/// full stop.
pub fn plain_reason(text: &str) -> String {
    let plain = text.split(" (os error").next().unwrap_or(text);
    let mut chars = plain.trim_end_matches(['.', '\n', ' ']).chars();
    chars.next().map_or_else(String::new, |c| c.to_lowercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message;

    #[test]
    fn a_reason_is_a_part_of_a_line() {
        assert_eq!(plain_reason("Permission denied (os error 13)"), "permission denied");
        assert_eq!(plain_reason("Éx.\n"), "éx");
        assert_eq!(plain_reason(""), "");
        assert_eq!(usual_reason(ErrorKind::NotFound, "找不到文件。"), "no such file or directory");
        assert_eq!(usual_reason(ErrorKind::Other, "Busy. (os error 32)"), "busy");
        let grown = message!("it had {} bytes", 3);
        assert_eq!(system_reason(&io::Error::other(grown.clone())), grown);
    }
}
