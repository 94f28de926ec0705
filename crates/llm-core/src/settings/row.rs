//! What a row is.

use crate::base::{Error, Message, Result, Value};
use crate::message;
use std::collections::BTreeSet;

/// One setting of a `T`.
#[derive(Debug)]
pub struct Row<T> {
    /// The name in files, for ever, such as `model.dropout`.
    pub key: &'static str,
    /// The name in the errors of `check`, such as `dropout`.
    pub field: &'static str,
    /// The names that the value can be; none where it is no choice among names.
    pub choices: fn(&T) -> Vec<&'static str>,
    /// Whether files have the key only where the value is not the default: the setting came after
    /// the first files of format 2, and a run without it keeps its file, which older programs read.
    pub later: bool,
    /// The value in a `T`.
    pub get: fn(&T) -> Value,
    /// Changes the value. Refuses, with [`Error::Config`], a value of another type or outside the
    /// setting's own range; the old value then stays.
    pub put: fn(&mut T, Value) -> Result<()>,
}

/// A row: key, place of the field, the name that `check` gives it in its errors; behind `later`
/// where [`Row::later`] holds.
///
/// Ranges stand in the `check` of the type; a row asks it and hears what is about its own field.
macro_rules! row {
    (later $($row:tt)+) => {
        Row { later: true, ..row!($($row)+) }
    };
    ($key:literal, $($field:ident).+, $name:literal) => {
        Row {
            key: $key,
            field: $name,
            choices: |all| Typed::choices(&all.$($field).+),
            later: false,
            get: |all| Typed::to_value(&all.$($field).+),
            put: |all, value| {
                let mut changed = all.clone();
                changed.$($field).+ = typed($key, value)?;
                own($name, changed.check())?;
                *all = changed;
                Ok(())
            },
        }
    };
}
pub(super) use row;

/// A type that values can be made of.
pub(super) trait Typed: Sized {
    /// What a value has to be, for messages.
    const EXPECTED: Message;

    fn to_value(&self) -> Value;

    fn choices(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn from_value(value: &Value) -> Option<Self>;
}

/// The value of `key` in its type.
pub(super) fn typed<T: Typed>(key: &str, value: Value) -> Result<T> {
    T::from_value(&value).ok_or_else(|| {
        let shown: String = value.to_string().chars().take(80).collect();
        let reason =
            message!("'{}' is {} ({}), expected {}", key, value.kind(), shown, T::EXPECTED);
        Error::config("settings", reason)
    })
}

/// What `check` says about the field `name`.
pub(super) fn own(name: &str, checked: Result<()>) -> Result<()> {
    match checked {
        Err(Error::Config { field, reason }) if field == name => {
            Err(Error::Config { field, reason })
        }
        _ => Ok(()),
    }
}

macro_rules! typed {
    ($($type:ty, $expected:expr;)+) => {$(
        impl Typed for $type {
            const EXPECTED: Message = $expected;

            fn to_value(&self) -> Value {
                self.clone().into()
            }

            fn from_value(value: &Value) -> Option<$type> {
                value.try_into().ok()
            }
        }
    )+};
}

typed! {
    bool, message!("yes or no");
    u32, message!("a whole number below 2^32");
    u64, message!("a whole number");
    usize, message!("a whole number that this machine can count to");
    f32, message!("a single-precision number");
    f64, message!("a double-precision number");
    String, message!("a text");
    [u8; 32], message!("32 bytes");
}

/// A list as a text, 2,3,4: without an order, each number once.
impl Typed for Vec<usize> {
    const EXPECTED: Message = message!("whole numbers with commas between them");

    fn to_value(&self) -> Value {
        let numbers: Vec<String> = self.iter().map(ToString::to_string).collect();
        Value::Text(numbers.join(","))
    }

    fn from_value(value: &Value) -> Option<Vec<usize>> {
        let Value::Text(text) = value else { return None };
        if text.is_empty() {
            return Some(Vec::new());
        }
        let numbers: Result<BTreeSet<usize>, _> =
            text.split(',').map(|number| number.trim().parse()).collect();
        Some(numbers.ok()?.into_iter().collect())
    }
}

/// Choices as texts, by the names that `choices!` gives them.
macro_rules! named {
    ($($type:ty),+) => {$(
        impl Typed for $type {
            const EXPECTED: crate::base::Message =
                crate::base::Message::new(<$type>::NAMES, Vec::new());

            fn to_value(&self) -> Value {
                Value::Text(self.name().into())
            }

            fn choices(&self) -> Vec<&'static str> {
                <$type>::ALL.map(<$type>::name).to_vec()
            }

            fn from_value(value: &Value) -> Option<$type> {
                let Value::Text(text) = value else { return None };
                <$type>::ALL.into_iter().find(|choice| choice.name() == text)
            }
        }
    )+};
}
pub(super) use named;
