//! What a text was taken out of, what it is besides text, and what helps.

use crate::chat::exported::whatsapp;
use crate::files::is_named;
use crate::first_look::Look;
use crate::json_look::{Holds, JsonLook};
use llm_core::base::Message;
use llm_core::message;
use std::path::Path;

/// What a text was taken out of, or rid of, or is besides text; in the order in which it is said.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wrapping {
    /// Gzip, which is unpacked.
    Unpacked,
    /// UTF-16, which is converted.
    Converted,
    /// The mark of UTF-8, which is left out.
    Unmarked,
    /// llm.c's header before token numbers, which is left out.
    Headed,
    /// Another encoding than UTF-8, or none: such a text stays as it is, and so do those below.
    NotUtf8,
    /// An object of JSON on each line.
    JsonLines(Holds),
    /// An object of JSON over several lines, or a list of such.
    Json(Holds),
    /// Cells between commas or the like, below their names.
    Table,
    /// HTML.
    WebPage,
    /// Mails in a file, with their headers.
    Mails,
    /// A chat that WhatsApp exported.
    WhatsApp,
    /// The lines end as those of Windows do, in CR LF.
    Windows,
    /// The lines end as those of old Macs do, in CR alone.
    OldMac,
}

impl Wrapping {
    /// What a text that begins with `sample` and is called `name` is besides text.
    pub(super) fn of_text(name: &Path, sample: &[u8]) -> Vec<Wrapping> {
        let lines: Vec<&[u8]> = sample.split_inclusive(|&b| b == b'\n').take(50).collect();
        let whole = lines.iter().filter(|line| line.ends_with(b"\n"));
        let windows =
            whole.clone().count() > 0 && whole.clone().all(|line| line.ends_with(b"\r\n"));
        let texts = || whole.clone().map(|line| line.trim_ascii()).filter(|line| !line.is_empty());
        let is_object = |line: &[u8]| {
            line.starts_with(b"{") && serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()
        };
        let between = |cell: u8| texts().next().is_some_and(|line| line.contains(&cell));
        let form = if let Some(look) = JsonLook::of(sample) {
            let is_lines = texts().count() > 0 && texts().all(is_object);
            Some(if is_lines { Wrapping::JsonLines } else { Wrapping::Json }(look.holds()))
        } else if is_named(name, &["csv"]) && b",;\t".iter().any(|&cell| between(cell))
            || is_named(name, &["tsv"]) && between(b'\t')
        {
            Some(Wrapping::Table)
        } else if Look::of_bytes(sample) == Some(Look::WebPage) {
            Some(Wrapping::WebPage)
        } else if is_mails(sample) {
            Some(Wrapping::Mails)
        } else if is_whatsapp(sample) {
            Some(Wrapping::WhatsApp)
        } else {
            None
        };
        let old_mac = !sample.contains(&b'\n') && sample.contains(&b'\r');
        let ends = windows.then_some(Wrapping::Windows).or(old_mac.then_some(Wrapping::OldMac));
        form.into_iter().chain(ends).collect()
    }

    /// The remark about it, with what helps.
    pub(super) fn message(&self) -> Message {
        match self {
            Wrapping::Unpacked => message!("unpacked (gzip)"),
            Wrapping::Converted => message!("converted from UTF-16"),
            Wrapping::Unmarked => message!("without the byte order mark"),
            Wrapping::Headed => message!("without the header of llm.c"),
            Wrapping::NotUtf8 => message!("not UTF-8 and learned byte by byte (iconv converts it)"),
            Wrapping::JsonLines(Holds::Texts(filter)) => message!(
                "JSON lines, learned with their braces and keys (jq -r {} takes the texts out)",
                filter
            ),
            Wrapping::Json(Holds::Texts(filter)) => message!(
                "JSON, learned with its braces and keys (jq takes texts out: jq -r {})",
                filter
            ),
            Wrapping::JsonLines(holds) => {
                aside(message!("JSON lines, learned with their braces and keys"), holds)
            }
            Wrapping::Json(holds) => {
                aside(message!("JSON, learned with its braces and keys"), holds)
            }
            Wrapping::Table => {
                message!("a table, learned with its separators (csvcut -c text takes a column out)")
            }
            Wrapping::WebPage => message!(
                "a web page, learned with its tags (pandoc -f html -t plain makes text of it)"
            ),
            Wrapping::Mails => message!(
                "mails, learned with their headers (the module mailbox of Python takes the texts out)"
            ),
            Wrapping::WhatsApp => message!(
                "a chat of WhatsApp, learned as a text (the verb import chats makes conversations of it)"
            ),
            Wrapping::OldMac => message!(
                "line ends of old Macs, learned as they are (tr '\\r' '\\n' makes them line breaks)"
            ),
            Wrapping::Windows => message!(
                "line ends of Windows, learned as two characters (tr -d '\\r' makes them one)"
            ),
        }
    }
}

fn aside(what: Message, holds: &Holds) -> Message {
    match holds {
        Holds::Chats => message!("{} ({data_as} chats reads the conversations in it)", what),
        Holds::Export(_) => message!("{} (the verb import chats makes conversations of it)", what),
        Holds::Texts(_) | Holds::Other => what,
    }
}

/// Whether a text is one or several mails: headers after a line of the day on which one came.
fn is_mails(sample: &[u8]) -> bool {
    let mut lines = sample.split(|&byte| byte == b'\n');
    let is_header = |line: &[u8]| {
        let name = line.iter().position(|&byte| byte == b':').map(|colon| &line[..colon]);
        name.is_some_and(|name| {
            !name.is_empty() && name.iter().all(|&b| b.is_ascii_alphanumeric() || b == b'-')
        })
    };
    lines.next().is_some_and(|line| line.starts_with(b"From ") && line.contains(&b':'))
        && lines.next().is_some_and(is_header)
}

/// Whether a text is what WhatsApp exports: many of the first lines begin with a date, a time and a
/// name before a colon.
fn is_whatsapp(sample: &[u8]) -> bool {
    let sample = String::from_utf8_lossy(sample);
    let lines: Vec<&str> = sample.lines().filter(|line| !line.trim().is_empty()).take(50).collect();
    let said = lines.iter().filter(|line| whatsapp::is_said(line)).count();
    said > 1 && said * 4 >= lines.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_text_is_besides_is_seen() {
        for (name, text, dress) in [
            (
                "a.txt",
                "{\"text\": \"a\"}\n{\"text\": \"b\"}\n{\"te",
                vec![Wrapping::JsonLines(Holds::Texts(".text".into()))],
            ),
            ("a.txt", "[ {\n\"text\": 1}]", vec![Wrapping::Json(Holds::Other)]),
            ("a.csv", "id,text\r\n1,a\r\n", vec![Wrapping::Table, Wrapping::Windows]),
            ("a.txt", "{\n \"cells\": [\n", vec![Wrapping::Json(Holds::Other)]),
            ("a.html", "<!doctype html>\n<p>", vec![Wrapping::WebPage]),
            ("mail", "From a@b Thu Jan  1 00:00:00 1970\nDate: now\n\nHi\n", vec![Wrapping::Mails]),
            ("a.txt", "From here: on\nit is text\n", vec![]),
            ("a.txt", "one\rtwo\rthree", vec![Wrapping::OldMac]),
            ("a.txt", "50 %\rdone\n", vec![]),
            ("a.CSV", "id;text\n1;a\n", vec![Wrapping::Table]),
            ("a.txt", "id,text\n1,a\n", vec![]),
            ("a.txt", "one\r\ntwo\n", vec![]),
            ("a.txt", "[x] {y}\n{\"a\": 1}\n", vec![]),
            ("a.txt", "", vec![]),
        ] {
            assert_eq!(Wrapping::of_text(Path::new(name), text.as_bytes()), dress, "{text:?}");
        }
    }

    #[test]
    fn what_whatsapp_exports_is_known() {
        for line in [
            "31.12.25, 23:59 - Ada: Hello",
            "1/2/26, 9:05\u{202f}PM - Ada B.: Hello: you",
            "\u{200e}[31/12/2025, 23:59:01] Ada: Hello",
            "2025-12-31 23.59 - Ada: Hello",
        ] {
            assert!(is_whatsapp(format!("{line}\nand more\n{line}\n").as_bytes()), "{line}");
        }
        for line in [
            "31.12.25, 23:59 - no one",
            "2025-12-31 23:59:01 INFO a: b",
            "1.2, 3:4 - a: b",
            "Ada: a",
        ] {
            assert!(!is_whatsapp(format!("{line}\n{line}\n").as_bytes()), "{line}");
        }
        assert!(!is_whatsapp(b"1.2.26, 9:05 - Ada: Hello\n"));
    }
}
