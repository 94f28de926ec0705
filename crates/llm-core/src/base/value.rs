//! The value of a setting.

use super::{Fill, Filling, Message};
use crate::message;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The value of a setting. The order of the kinds is fixed: checkpoints store its number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// Yes or no.
    Bool(bool),
    /// 0, 1, 2, ..
    Whole(u64),
    /// A single-precision number.
    Float(f32),
    /// A double-precision number.
    Double(f64),
    /// A name.
    Text(String),
    /// Bytes, such as a hash.
    Bytes(Vec<u8>),
    /// A row of yes and no.
    Bits(Vec<bool>),
}

macro_rules! values {
    ($($from:ty, $kind:ident;)+) => {$(
        impl From<$from> for Value {
            fn from(value: $from) -> Value {
                Value::$kind(value.into())
            }
        }

        impl TryFrom<&Value> for $from {
            type Error = ();

            fn try_from(value: &Value) -> Result<$from, ()> {
                match value {
                    Value::$kind(x) => x.clone().try_into().map_err(drop),
                    _ => Err(()),
                }
            }
        }
    )+};
}
values!(bool, Bool; u32, Whole; u64, Whole; f32, Float; f64, Double; String, Text; [u8; 32], Bytes;);

impl From<usize> for Value {
    fn from(value: usize) -> Value {
        Value::Whole(value as u64)
    }
}

impl TryFrom<&Value> for usize {
    type Error = ();

    fn try_from(value: &Value) -> Result<usize, ()> {
        u64::try_from(value)?.try_into().map_err(drop)
    }
}

impl Value {
    /// What it is, for messages.
    pub fn kind(&self) -> Message {
        match self {
            Value::Bool(_) => message!("yes or no"),
            Value::Whole(_) => message!("a whole number"),
            Value::Float(_) => message!("a single-precision number"),
            Value::Double(_) => message!("a double-precision number"),
            Value::Text(_) => message!("a text"),
            Value::Bytes(_) => message!("bytes"),
            Value::Bits(_) => message!("a row of yes and no"),
        }
    }

    /// Bytes that it takes up, roughly.
    pub(super) fn size(&self) -> usize {
        match self {
            Value::Bool(_) => 1,
            Value::Whole(_) | Value::Float(_) | Value::Double(_) => 8,
            Value::Text(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            Value::Bits(bits) => bits.len(),
        }
    }
}

/// As a person reads it.
impl Fill for Value {
    fn fill(&self) -> Filling {
        Filling::Text(self.to_string())
    }
}

/// As a person reads it; a text is escaped, so that it cannot control the terminal.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(x) => x.fmt(f),
            Value::Whole(x) => x.fmt(f),
            Value::Float(x) => x.fmt(f),
            Value::Double(x) => x.fmt(f),
            Value::Text(x) => x.escape_default().fmt(f),
            Value::Bytes(x) => x.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Value::Bits(x) => {
                x.iter().try_for_each(|&bit| f.write_str(if bit { "1" } else { "0" }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_well() {
        let all = [
            (Value::Bool(true), "true"),
            (Value::Whole(7), "7"),
            (Value::Float(0.1), "0.1"),
            (Value::Double(0.1), "0.1"),
            (Value::Text("a\u{1b}".into()), "a\\u{1b}"),
            (Value::Bytes(vec![0, 255]), "00ff"),
            (Value::Bits(vec![true, false]), "10"),
        ];
        for (value, text) in all {
            assert_eq!(value.to_string(), text);
        }
    }
}
