//! What went wrong, in both languages, for whoever sits before the page.

use crate::words::CHINESE;
use llm_core::base::Message;
use llm_core::{Error, message};
use llm_formats::FormatError;
use llm_messages::errors;
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt;

/// `Result` with [`Failure`].
pub type Result<T> = std::result::Result<T, Failure>;

/// What code may decide by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Code {
    /// The request is none.
    Request,
    /// There is no such run, or no such moment of it.
    Run,
    /// A setting outside its range.
    Setting,
    /// A text to learn from that is none, or too short.
    Data,
    /// A prompt that is empty, or has what the model does not know.
    Text,
    /// A file that is no checkpoint, or a damaged one.
    Checkpoint,
    /// A checkpoint of a model that is not made here.
    Attention,
    /// There is not enough memory.
    Memory,
    /// The training has gone astray.
    Diverged,
    /// A fault of the program.
    Internal,
}

/// One sentence about what went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What code may decide by.
    pub code: Code,
    /// In English.
    pub en: String,
    /// In Chinese; in English what has no translation.
    pub zh: String,
}

impl Failure {
    /// A sentence of this crate.
    pub fn new(code: Code, what: impl Into<Message>) -> Failure {
        let what = what.into();
        Failure { code, en: what.to_string(), zh: what.said(&*CHINESE) }
    }

    /// The same about the content of a checkpoint.
    #[must_use]
    pub fn in_checkpoint(self, name: &str) -> Failure {
        let about = |what: String| message!("checkpoint '{}': {}", name, what);
        let (en, zh) = (about(self.en).to_string(), about(self.zh).said(&*CHINESE));
        Failure { code: Code::Checkpoint, en, zh }
    }

    /// As the page gets it.
    pub fn json(&self) -> Value {
        json!({ "error": { "code": self.code, "en": self.en, "zh": self.zh } })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.en)
    }
}

impl std::error::Error for Failure {}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let code = match &error {
            Error::Config { .. } => Code::Setting,
            Error::UnknownUnit { .. } | Error::NumbersOnly | Error::TokenOutOfRange { .. } => {
                Code::Text
            }
            Error::DataTooSmall { .. } => Code::Data,
            Error::Diverged { .. } | Error::Unusable { .. } | Error::Logits { .. } => {
                Code::Diverged
            }
            Error::Memory { .. } => Code::Memory,
            Error::Checkpoint { .. } | Error::Tokenizer { .. } => Code::Checkpoint,
            _ => Code::Internal,
        };
        Failure { code, en: with_sources(&error), zh: errors::core(&error, &*CHINESE) }
    }
}

impl From<FormatError> for Failure {
    fn from(error: FormatError) -> Failure {
        let zh = errors::formats(&error, &*CHINESE);
        Failure { code: Code::Checkpoint, en: with_sources(&error), zh }
    }
}

/// The message and what caused it, in one line.
fn with_sources(error: &dyn std::error::Error) -> String {
    let first = Some(error);
    let chain = std::iter::successors(first, |error| error.source());
    chain.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
