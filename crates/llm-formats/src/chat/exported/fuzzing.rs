//! The door of the fuzz target `exports_in`. Compiled for it and for tests.

use super::Exports;
use llm_core::message;
use std::io;

pub(super) const WHATSAPP: &str = "\
1/2/24, 9:00 AM - Messages and calls are end-to-end encrypted.
1/2/24, 9:01 AM - Tom: early
1/2/24, 9:02 AM - Mia: is it far?
1/2/24, 9:02 AM - Mia: to the sea
1/2/24, 9:03 AM - Tom: a day
1/2/24, 3:02 PM - Tom: or two
1/2/24, 9:02 PM - Mia: and by ship?
1/3/24, 3:02 AM - Tom: asleep
1/13/24, 9:03 AM - Mia: hello?
";
pub(super) const TELEGRAM: &str = r#"{"name": "Trip", "type": "private_group", "id": 1, "messages": [
    {"id": 1, "type": "message", "date": "2024-01-02T09:01:00", "from": "Mia", "text": "who comes?"},
    {"id": 2, "type": "message", "date": "2024-01-02T09:02:00", "from": "Ann", "text": "I do"},
    {"id": 3, "type": "message", "date": "2024-01-02T09:02:00", "from": "Ann", "text": ["so ", {"type": "bold", "text": "there"}]},
    {"id": 4, "type": "message", "date": "2024-01-02T09:03:00", "from": "Tom", "text": "me too"}]}"#;
pub(super) const DISCORD: &str = r#"{"guild": {"id": "0"}, "channel": {"id": "1"}, "messages": [
    {"type": "Default", "timestamp": "2024-01-02T09:01:00+00:00", "content": "a", "author": {"name": "mia", "nickname": null}},
    {"type": "Reply", "timestamp": "2024-01-02T09:02:00+00:00", "content": "b", "author": {"name": "tom", "nickname": "Tom"}}]}"#;
pub(super) const CHATGPT: &str = r#"[{"title": "", "mapping": {
    "r": {"message": null, "parent": null, "children": ["a"]},
    "a": {"message": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["q"]}}, "parent": "r", "children": ["b"]},
    "b": {"message": {"author": {"role": "assistant"}, "content": {"content_type": "text", "parts": ["c"]}}, "parent": "a", "children": []}
    }, "current_node": "b"}]"#;
pub(super) const LINES: &str = "{\"prompt\": \"q\", \"completion\": \"c\"}\n{\"text\": \"t\"}\n";

/// Small exports, one of each kind, to begin with.
pub const ALL: [&str; 5] = [WHATSAPP, TELEGRAM, DISCORD, CHATGPT, LINES];

/// Reads the export of an app, and makes conversations of it.
///
/// # Panics
/// When a refusal is not one clean line, or what was accepted cannot be used.
pub fn read_exports(bytes: &[u8]) {
    match Exports::read([(message!("a file"), bytes)]) {
        Ok(mut found) => {
            let names: Vec<_> = found.names().iter().map(|(who, _)| who.to_string()).collect();
            found.days();
            if let Some(me) = names.first() {
                found.answered_by(&found.meant(me).expect("it was listed"));
            }
            for turns in &found.conversations {
                assert!(!turns.is_empty());
            }
            found.write(&mut io::sink()).expect("no reader fails");
        }
        Err(why) => {
            let why = why.to_string();
            assert!(why.len() < 2000 && !why.contains(char::is_control), "{why}");
        }
    }
}
