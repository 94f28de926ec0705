//! What a text in JSON holds, by its beginning: conversations, the export of a chat program, or other
//! texts, and what `jq` takes them out with.

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::collections::HashMap;
use std::fmt;

/// Keys with the list of messages of a conversation.
pub const LISTS: [&str; 5] = ["messages", "conversations", "conversation", "dialog", "dialogue"];

/// Different places of values that are told apart: more than files have by intention.
const MOST_PLACES: usize = 500;

/// An app whose chats can be exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum App {
    /// WhatsApp, as a text.
    WhatsApp,
    /// Telegram Desktop: `result.json`.
    Telegram,
    /// Discord, by DiscordChatExporter: a channel.
    Discord,
    /// ChatGPT: `conversations.json`.
    ChatGpt,
}

/// Places in JSON by which the export of an app is known.
const EXPORTS: [(&str, App); 6] = [
    ("mapping", App::ChatGpt),
    ("messages[].author.name", App::Discord),
    ("messages[].from_id", App::Telegram),
    ("messages[].actor_id", App::Telegram),
    ("messages[].date", App::Telegram),
    ("chats.list[].messages", App::Telegram),
];

/// What a text in JSON holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holds {
    /// Conversations.
    Chats,
    /// What an app exports.
    Export(App),
    /// Other texts, and the filter of jq that gives the longest ones.
    Texts(String),
    /// Something else.
    Other,
}

/// The beginning of a text in JSON.
#[derive(Debug, Default)]
pub struct JsonLook {
    /// Where values stand, as jq writes it, in order, and the bytes of the texts there.
    places: Vec<(String, usize)>,
    /// The numbers of the places.
    numbers: HashMap<String, usize>,
}

impl JsonLook {
    /// The look of a text that begins so; `None` for what is no JSON with names in it.
    pub fn of(sample: &[u8]) -> Option<JsonLook> {
        let sample = sample.strip_prefix(&crate::files::UTF8_MARK).unwrap_or(sample);
        let mut look = JsonLook::default();
        if matches!(sample.trim_ascii_start().first(), Some(b'{' | b'[')) {
            let mut json = serde_json::Deserializer::from_slice(sample);
            while (Place { look: &mut look, path: String::new() }).deserialize(&mut json).is_ok() {}
        }
        look.places.iter().any(|(place, _)| place.contains('.')).then_some(look)
    }

    /// What the text holds.
    pub fn holds(&self) -> Holds {
        let any = |holds: &dyn Fn(&str) -> bool| ["", "[]"].into_iter().any(holds);
        if any(&|at| self.is_chat(at)) {
            return Holds::Chats;
        }
        let is_there = |key: &str| any(&|at| self.has(&format!("{at}.{key}")));
        if let Some((_, app)) = EXPORTS.iter().find(|(key, _)| is_there(key)) {
            return Holds::Export(*app);
        }
        self.longest().map_or(Holds::Other, Holds::Texts)
    }

    /// Whether a text stands for each line, or each entry of the list: they are learned as they are.
    pub fn has_texts(&self) -> bool {
        self.has(".text") || self.has("[].text")
    }

    /// Whether it is one conversation to a line, without a key, or one alone.
    pub fn is_messages(&self) -> bool {
        self.is_list("")
    }

    /// Whether it is answers of which one is better than another.
    pub fn is_judged(&self) -> bool {
        self.has(".chosen") || self.has("[].chosen")
    }

    /// The filter of jq that makes conversations of the texts, by their usual names.
    pub fn pairs(&self) -> Option<String> {
        const ASKED: [&str; 6] = ["prompt", "question", "instruction", "input", "query", "user"];
        const SAID: [&str; 7] =
            ["completion", "answer", "response", "output", "chosen", "assistant", "reply"];
        ["", "[]"].into_iter().find_map(|at| {
            let text = |key: &&str| self.bytes(&format!("{at}.{key}")) > 0;
            let all = if at.is_empty() { "" } else { ".[] | " };
            if self.has(&format!("{at}.chosen[].content")) {
                return Some(format!("{all}{{messages: .chosen}}"));
            }
            let asked = ASKED.into_iter().find(text)?;
            let said = SAID.into_iter().find(text)?;
            Some(format!("{all}{{prompt: .{asked}, completion: .{said}}}"))
        })
    }

    /// Whether the values there are conversations, or messages of one.
    fn is_chat(&self, at: &str) -> bool {
        let has = |key: &str| self.has(&format!("{at}{key}"));
        let both = |a: &str, b: &str| has(a) && has(b);
        LISTS.iter().any(|key| self.is_list(&format!("{at}.{key}")))
            || self.is_list(at)
            || both(".prompt", ".completion")
            || both(".instruction", ".output")
            || both(".chosen", ".rejected")
    }

    /// Whether the list there is one of messages.
    fn is_list(&self, at: &str) -> bool {
        let has = |key: &str| self.has(&format!("{at}[].{key}"));
        has("role") && has("content") || has("from") && has("value")
    }

    fn has(&self, place: &str) -> bool {
        self.numbers.contains_key(place)
    }

    fn bytes(&self, place: &str) -> usize {
        self.numbers.get(place).map_or(0, |&number| self.places[number].1)
    }

    /// The place of the longest texts, for a shell.
    fn longest(&self) -> Option<String> {
        let (place, bytes) = self.places.iter().rev().max_by_key(|(_, bytes)| bytes)?;
        let filter = if place.starts_with('[') { format!(".{place}") } else { place.clone() };
        let is_plain = filter.bytes().all(|b| b.is_ascii_alphanumeric() || b"._".contains(&b));
        let fits = *bytes > 0 && filter.len() <= 60 && !filter.contains('\'');
        fits.then(|| if is_plain { filter } else { format!("'{filter}'") })
    }

    fn add(&mut self, place: &str, bytes: usize) {
        let count = self.places.len();
        match self.numbers.get(place) {
            Some(&number) => self.places[number].1 += bytes,
            None if count < MOST_PLACES => {
                self.numbers.insert(place.into(), count);
                self.places.push((place.into(), bytes));
            }
            None => {}
        }
    }
}

/// A value at a place.
struct Place<'l> {
    look: &'l mut JsonLook,
    path: String,
}

impl<'de> DeserializeSeed<'de> for Place<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        self.look.add(&self.path, 0);
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.look.add(&self.path, text.len());
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let path = format!("{}[]", self.path);
        while list.next_element_seed(Place { look: self.look, path: path.clone() })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        while let Some(key) = object.next_key::<String>()? {
            // The name of what is cut off at the end of the beginning counts too.
            let path = format!("{}.{}", self.path, spelt(&key));
            self.look.add(&path, 0);
            match self.look.places.len() < MOST_PLACES {
                true => object.next_value_seed(Place { look: self.look, path })?,
                false => object.next_value::<IgnoredAny>().map(|_| ())?,
            }
        }
        Ok(())
    }
}

/// A key as jq wants it.
fn spelt(key: &str) -> String {
    let is_word = key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !key.bytes().next().is_none_or(|b| b.is_ascii_digit());
    if is_word { key.into() } else { format!("{key:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str) -> Holds {
        JsonLook::of(text.as_bytes()).map_or(Holds::Other, |look| look.holds())
    }

    #[test]
    fn conversations_are_known_in_all_their_shapes() {
        let turn = r#"{"role": "user", "content": "a"}"#;
        let spoken = r#"{"from": "human", "value": "a"}"#;
        for text in [
            format!("{{\"id\": 1, \"messages\": [{turn}, {turn}]}}\n{{}}"),
            format!("\u{feff}\n[\n {{\"conversations\": [\n  {spoken}"),
            format!("{{\"dialog\": [{spoken}]}}"),
            format!("[{turn}, {turn}]\n[{turn}]"),
            format!("[[{turn}], [{turn}]]"),
            r#"{"prompt": "a", "completion": "b"#.into(),
            r#"[{"instruction": "a", "input": "", "output": "b"}]"#.into(),
            r#"{"prompt": "a", "chosen": "b", "rejected": "c"}"#.into(),
        ] {
            assert_eq!(holds(&text), Holds::Chats, "{text}");
        }
    }

    #[test]
    fn exports_of_chat_programs_are_none() {
        for (text, app) in [
            (
                r#"{"name": "A", "messages": [{"id": 1, "from": "A", "from_id": "user1", "text": "a"#,
                App::Telegram,
            ),
            (r#"{"chats": {"list": [{"messages": [{"from": "A"}]}]}}"#, App::Telegram),
            (
                r#"{"guild": {}, "messages": [{"content": "a", "author": {"name": "A", "roles": []}}]}"#,
                App::Discord,
            ),
            (
                r#"[{"title": "a", "mapping": {"x": {"message": {"author": {"role": "user"}}}}}]"#,
                App::ChatGpt,
            ),
        ] {
            assert_eq!(holds(text), Holds::Export(app), "{text}");
        }
    }

    #[test]
    fn the_filter_is_that_of_the_longest_texts() {
        for (text, filter) in [
            ("{\"text\": \"a\"}\n{\"text\": \"b\"}", ".text"),
            ("[{\"url\": \"ab\", \"body\": \"a longer one\"}, {\"bo", "'.[].body'"),
            ("{\n \"data\": [\n {\"the text\": \"a\"}]}", "'.data[].\"the text\"'"),
            ("{\"a\": {\"1\": [\"b\"]}}", "'.a.\"1\"[]'"),
        ] {
            assert_eq!(holds(text), Holds::Texts(filter.into()), "{text}");
        }
        for text in ["", "a", "[x] {y}", "[1, 2]", "{\"a\": 1}", "{\"it's\": \"a\"}", "{a: 'b'}"] {
            assert_eq!(holds(text), Holds::Other, "{text}");
        }
        // Endless nesting, and endless names.
        assert_eq!(holds(&"[{\"a\":".repeat(9_000)), Holds::Other);
        let many: Vec<_> = (0..3_000).map(|i| format!("\"k{i}\": \"{i}\"")).collect();
        assert!(matches!(holds(&format!("{{{}}}", many.join(","))), Holds::Texts(_)));
    }

    #[test]
    fn pairs_of_texts_can_be_made_conversations() {
        let pairs = |text: &str| JsonLook::of(text.as_bytes()).unwrap().pairs();
        let wanted = "{prompt: .question, completion: .answer}";
        assert_eq!(pairs(r#"{"question": "a", "answer": "b"}"#).unwrap(), wanted);
        let list = pairs(r#"[{"answer": "a", "question": "b"}]"#).unwrap();
        assert_eq!(list, format!(".[] | {wanted}"));
        let chosen = pairs(r#"{"chosen": [{"role": "user", "content": "a"}]}"#).unwrap();
        assert_eq!(chosen, "{messages: .chosen}");
        assert_eq!(pairs(r#"{"body": "a", "answer": "b"}"#), None);
    }
}
