//! How the keys of a description are read.

use super::RotaryScaling;
use crate::base::{Error, Message, Result, Settings, Value};
use crate::message;

/// The keys of a scaling of rotary positions: all of them are there, or none.
pub(super) const SCALING: [&str; 4] = [
    "rotary.scaling.factor",
    "rotary.scaling.low",
    "rotary.scaling.high",
    "rotary.scaling.original",
];

pub(super) fn refused(reason: Message) -> Error {
    Error::config("attention", reason)
}

/// Settings by key, taken out one by one.
pub(super) struct Keys(Settings);

impl Keys {
    pub(super) fn new(settings: Settings) -> Keys {
        Keys(settings)
    }

    /// What no one took.
    pub(super) fn rest(self) -> Settings {
        self.0
    }

    pub(super) fn whole(&mut self, key: &str) -> Result<Option<usize>> {
        self.take(key, message!("a whole number"))
    }

    pub(super) fn double(&mut self, key: &str) -> Result<Option<f64>> {
        self.take(key, message!("a double-precision number"))
    }

    pub(super) fn yes(&mut self, key: &str) -> Result<Option<bool>> {
        self.take(key, message!("yes or no"))
    }

    /// All four of its numbers, or none of them.
    pub(super) fn scaling(&mut self) -> Result<Option<RotaryScaling>> {
        let [factor, low, high, original] = SCALING;
        let [factor, low, high] = [self.double(factor)?, self.double(low)?, self.double(high)?];
        match (factor, low, high, self.whole(original)?) {
            (None, None, None, None) => Ok(None),
            (Some(factor), Some(low), Some(high), Some(original)) => {
                Ok(Some(RotaryScaling { factor, low, high, original }))
            }
            _ => Err(refused(message!("a part of rotary.scaling is missing"))),
        }
    }

    fn take<T>(&mut self, key: &str, needed: Message) -> Result<Option<T>>
    where
        T: for<'v> TryFrom<&'v Value>,
    {
        let Some(value) = self.0.take(key) else { return Ok(None) };
        let wrong = || refused(message!("'{}' is {}, expected {}", key, value.to_string(), needed));
        T::try_from(&value).map(Some).map_err(|_| wrong())
    }
}
