//! The conversations of a text: lines of JSON, the entries of a list, or values over several lines.

use crate::files::{SAMPLE, UTF8_MARK};
use crate::json_look::JsonLook;
use llm_core::base::Message;
use llm_core::message;
use serde::de::IgnoredAny;

/// Where something stands in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    /// The number of the line in which it begins, from 1 on.
    pub line: usize,
    /// The number in a list, from 1 on; 0 outside of one.
    pub entry: usize,
}

/// How a text holds conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// One to a line.
    Lines,
    /// The entries of a list.
    List,
    /// One after the other, each over several lines.
    Apart,
}

fn form(text: &[u8]) -> Form {
    let Some(start @ (b'{' | b'[')) = text.first() else { return Form::Lines };
    let end = text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len());
    let (first, rest) = text.split_at(end);
    let (read, rest) = (serde_json::from_slice::<IgnoredAny>(first), rest.trim_ascii_start());
    let is_cut = read.as_ref().is_err_and(serde_json::Error::is_eof);
    let is_all = rest.is_empty();
    // A broken line among lines is no beginning of a value over several.
    let goes_on = is_cut && !is_all && !rest.starts_with(&[*start]);
    let is_conversation =
        || JsonLook::of(&text[..text.len().min(SAMPLE)]).is_some_and(|look| look.is_messages());
    match start {
        b'[' if is_conversation() && !goes_on => Form::Lines,
        b'[' if is_conversation() => Form::Apart,
        b'[' if is_cut || read.is_ok() && is_all => Form::List,
        b'{' if goes_on => Form::Apart,
        _ => Form::Lines,
    }
}

/// Gives each conversation of a text, with its spot, to `take`.
///
/// # Errors
/// Where something else is, and why.
pub(super) fn each<'b>(
    bytes: &'b [u8],
    mut take: impl FnMut(Spot, &'b str) -> Result<(), Message>,
) -> Result<(), (Spot, Message)> {
    let bytes = bytes.strip_prefix(&UTF8_MARK).unwrap_or(bytes);
    let mut take = |spot: Spot, bytes: &'b [u8]| {
        let text = std::str::from_utf8(bytes).map_err(|_| message!("it is no UTF-8"));
        // The mark stands between files that were put together.
        let text = text.map(|text| text.trim_start_matches('\u{feff}').trim());
        let taken = text.and_then(|text| if text.is_empty() { Ok(()) } else { take(spot, text) });
        taken.map_err(|why| (spot, why))
    };
    let form = form(bytes.trim_ascii_start());
    if form == Form::Lines {
        let mut lines = bytes.split(|&byte| byte == b'\n').enumerate();
        return lines.try_for_each(|(i, line)| take(Spot { line: i + 1, entry: 0 }, line));
    }
    let is_list = form == Form::List;
    let (mut at, mut spot) = (0, Spot { line: 1, entry: usize::from(is_list) });
    // The next byte that is no white space.
    let next = |at: &mut usize, spot: &mut Spot| {
        let rest = &bytes[*at..];
        let blank = rest.len() - rest.trim_ascii_start().len();
        spot.line += breaks(&rest[..blank]);
        *at += blank;
        bytes.get(*at).copied()
    };
    if is_list {
        next(&mut at, &mut spot);
        at += 1;
    }
    while let Some(first) = next(&mut at, &mut spot) {
        if is_list && first == b']' && spot.entry == 1 {
            return end_of_list(&bytes[at + 1..], spot);
        }
        let mut values = serde_json::Deserializer::from_slice(&bytes[at..]).into_iter();
        let value: Option<serde_json::Result<IgnoredAny>> = values.next();
        if let Some(Err(e)) = value {
            let line = spot.line + e.line() - 1;
            let said = e.to_string();
            let what = said.split(" at line ").next().unwrap_or_default();
            let what = format!("{what} at column {}", e.column());
            return Err(no_json(Spot { line, ..spot }, what.into()));
        }
        let whole = &bytes[at..at + values.byte_offset()];
        take(spot, whole)?;
        at += whole.len();
        spot.line += breaks(whole);
        if !is_list {
            continue;
        }
        spot.entry += 1;
        match next(&mut at, &mut spot) {
            Some(b',') => at += 1,
            Some(b']') => return end_of_list(&bytes[at + 1..], spot),
            _ => return Err(no_json(spot, message!("a comma or the end of the list is missing"))),
        }
    }
    if is_list { Err(no_json(spot, message!("the list has no end"))) } else { Ok(()) }
}

fn breaks(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte == b'\n').count()
}

fn no_json(spot: Spot, what: Message) -> (Spot, Message) {
    (spot, message!("it is no JSON: {}", what))
}

/// Refuses anything but white space after a list, which ends at a spot.
fn end_of_list(rest: &[u8], spot: Spot) -> Result<(), (Spot, Message)> {
    let more = rest.trim_ascii_start();
    if more.is_empty() {
        return Ok(());
    }
    let line = spot.line + breaks(&rest[..rest.len() - more.len()]);
    Err(no_json(Spot { line, ..spot }, message!("more follows after the list")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines and entries, or where it fails.
    fn spots(text: &str) -> Result<Vec<[usize; 2]>, String> {
        let mut found = Vec::new();
        let all = each(text.as_bytes(), |spot, _| {
            found.push([spot.line, spot.entry]);
            Ok(())
        });
        all.map(|()| found).map_err(|(spot, why)| format!("{} {} {why}", spot.line, spot.entry))
    }

    const TURN: &str = r#"{"role": "user", "content": "a"}"#;

    #[test]
    fn a_text_is_lines_or_a_list_or_values_apart() {
        for (text, wanted) in [
            ("\u{feff}{}\r\n\n{}".to_string(), vec![[1, 0], [3, 0]]),
            ("[{}, {},\n{}]\n".into(), vec![[1, 1], [1, 2], [2, 3]]),
            ("\n[\n {\n  \"a\": 1\n },\n {}\n]".into(), vec![[3, 1], [6, 2]]),
            ("{\n \"a\": 1\n}\n{\n}".into(), vec![[1, 0], [4, 0]]),
            (format!("[{TURN}]\n[{TURN}, {TURN}]"), vec![[1, 0], [2, 0]]),
            (format!("[\n{TURN},\n{TURN}\n]"), vec![[1, 0]]),
            (format!("[[{TURN}],\n[{TURN}]]"), vec![[1, 1], [2, 2]]),
            ("[]".into(), vec![]),
            ("no\n[x]".into(), vec![[1, 0], [2, 0]]),
            (String::new(), vec![]),
        ] {
            assert_eq!(spots(&text).unwrap(), wanted, "{text}");
        }
    }

    #[test]
    fn where_a_list_breaks_is_said() {
        for (text, said) in [
            ("[{}, \n{\"a\": x}]", "2 2 it is no JSON: expected value at column 7"),
            ("[{}\n{}]", "2 2 it is no JSON: a comma or the end of the list is missing"),
            ("[{},", "1 2 it is no JSON: the list has no end"),
            ("[\n{}]\n 1", "3 2 it is no JSON: more follows after the list"),
            ("{\n\"a\": 1,\n}", "3 0 it is no JSON: key must be a string at column 1"),
        ] {
            let why = spots(text).unwrap_err();
            assert_eq!(why, said, "{text}");
        }
    }
}
