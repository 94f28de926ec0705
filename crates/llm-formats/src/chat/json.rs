//! Objects of JSON as far as they are read: the rest takes no memory.

use crate::json_look::LISTS;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::fmt;

/// Most keys of a message, of those that are known in a line, and of those that are not.
pub(super) const MOST_KEYS: usize = 64;

/// A value.
#[derive(Debug)]
pub(super) enum Part {
    /// A value that is no text, no list and no object.
    Scalar(Value),
    Text(String),
    List(Vec<Part>),
    Object(Fields),
    /// A list or an object that is passed over.
    Deep {
        is_list: bool,
        is_empty: bool,
    },
}

/// The members of an object.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub all: Vec<(String, Part)>,
    /// Names of those that are passed over.
    pub passed: Vec<String>,
}

impl Fields {
    /// Takes a value out; `null` stands for no value.
    pub fn take(&mut self, key: &str) -> Option<Part> {
        let at = self.all.iter().position(|(own, _)| own == key)?;
        let (_, part) = self.all.swap_remove(at);
        (!matches!(part, Part::Scalar(Value::Null))).then_some(part)
    }

    /// The first key that stands there twice: one of the two would be lost.
    pub fn double(&self) -> Option<&str> {
        let twice = |i: &usize| self.all[..*i].iter().any(|(key, _)| *key == self.all[*i].0);
        (0..self.all.len()).find(twice).map(|i| &*self.all[i].0)
    }
}

impl Part {
    /// Whether it stands for nothing: a key without a meaning here may have it.
    pub fn is_nothing(&self) -> bool {
        match self {
            Part::Scalar(Value::Null) => true,
            Part::Text(text) => matches!(text.trim(), "" | "[]" | "{}"),
            Part::Scalar(_) => false,
            Part::List(list) => list.is_empty(),
            Part::Object(fields) => fields.all.is_empty() && fields.passed.is_empty(),
            Part::Deep { is_empty, .. } => *is_empty,
        }
    }
}

/// What is expected of a value.
#[derive(Clone, Copy)]
enum Place {
    /// All that stands in a line.
    Line,
    /// Messages, or a text.
    Messages,
    Message,
    /// A text or a number.
    Leaf,
}

/// What stands in a line, of whose keys those of messages are read and those that are said to be.
pub(super) fn parse(line: &str, is_read: fn(&str) -> bool) -> serde_json::Result<Part> {
    let mut json = serde_json::Deserializer::from_str(line);
    let part = Seed { place: Place::Line, is_read }.deserialize(&mut json)?;
    json.end().map(|()| part)
}

#[derive(Clone, Copy)]
struct Seed {
    place: Place,
    is_read: fn(&str) -> bool,
}

impl<'de> DeserializeSeed<'de> for Seed {
    type Value = Part;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Part, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed {
    type Value = Part;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Part, E> {
        Ok(Part::Scalar(Value::Null))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Part, E> {
        Ok(Part::Scalar(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Part, E> {
        Ok(Part::Scalar(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Part, E> {
        Ok(Part::Scalar(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Part, E> {
        Ok(Part::Scalar(value.into()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Part, E> {
        Ok(Part::Text(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Part, A::Error> {
        let mut all = Vec::new();
        if !matches!(self.place, Place::Line | Place::Messages) {
            let is_empty = list.next_element::<IgnoredAny>()?.is_none();
            while list.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(Part::Deep { is_list: true, is_empty });
        }
        while let Some(part) = list.next_element_seed(Seed { place: Place::Message, ..self })? {
            let names = |key: &str| matches!(key, "role" | "from");
            let is_message = matches!(&part, Part::Object(fields) if fields.all.iter().any(|(key, _)| names(key)));
            all.push(part);
            if !is_message {
                // It is refused, and all that follows with it.
                while list.next_element::<IgnoredAny>()?.is_some() {}
            }
        }
        Ok(Part::List(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Part, A::Error> {
        let mut fields = Fields::default();
        if matches!(self.place, Place::Messages | Place::Leaf) {
            let is_empty = object.next_entry::<IgnoredAny, IgnoredAny>()?.is_none();
            while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Part::Deep { is_list: false, is_empty });
        }
        while let Some(key) = object.next_key::<String>()? {
            let is_line = matches!(self.place, Place::Line);
            let is_side = matches!(&*key, "prompt" | "completion" | "chosen" | "rejected");
            let has_messages = is_line && (LISTS.contains(&&*key) || is_side);
            let is_read = !is_line || has_messages || (self.is_read)(&key);
            if is_read && fields.all.len() < MOST_KEYS {
                let place = if has_messages { Place::Messages } else { Place::Leaf };
                let value = object.next_value_seed(Seed { place, ..self })?;
                fields.all.push((key, value));
            } else {
                object.next_value::<IgnoredAny>()?;
                if fields.passed.len() < MOST_KEYS {
                    fields.passed.push(key);
                }
            }
        }
        fields.all.shrink_to_fit();
        Ok(Part::Object(fields))
    }
}
