//! What went wrong, in both languages, for the user of the page.

use crate::words::Words;
use llm_core::Error;
use llm_core::base::{Message, with_causes};
use llm_gpu::GpuError;
use llm_run::error::RunError;
use serde::Serialize;
use serde_json::{Value, json};

/// `Result` with [`Failure`].
pub type Result<T> = std::result::Result<T, Failure>;

/// What code may decide by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Code {
    /// The request is invalid.
    Request,
    /// There is no such run, or no such moment of it.
    Run,
    /// A setting outside its range.
    Setting,
    /// A training text that is invalid, or too short.
    Data,
    /// A prompt that is empty, or has what the model does not know.
    Text,
    /// A file that is no checkpoint, or a damaged one.
    Checkpoint,
    /// A checkpoint of a model that is not made here.
    Attention,
    /// There is not enough memory.
    Memory,
    /// A model whose steps no GPU makes.
    Device,
    /// The training has gone astray.
    Diverged,
    /// A fault of the program.
    Internal,
}

/// One sentence about what went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{en}")]
pub struct Failure {
    /// What code may decide by.
    pub code: Code,
    /// In English.
    pub en: String,
    /// In Chinese; in English what has no translation.
    pub zh: String,
}

impl Failure {
    /// A sentence in both languages.
    pub fn new(code: Code, what: impl Into<Message>) -> Failure {
        let what = what.into();
        Failure { code, en: what.said(&Words::English), zh: what.said(&Words::Chinese) }
    }

    /// As the page gets it.
    pub fn json(&self) -> Value {
        json!({ "error": { "code": self.code, "en": self.en, "zh": self.zh } })
    }
}

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
        Failure::new(code, with_causes(&error))
    }
}

impl From<GpuError> for Failure {
    fn from(error: GpuError) -> Failure {
        Failure::new(Code::Device, error.message())
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        let code = match error {
            RunError::Core { source, .. } | RunError::Memory(source, _) => return source.into(),
            RunError::Usage(_) => Code::Setting,
            RunError::Data(_) => Code::Data,
            _ => Code::Internal,
        };
        Failure::new(code, error.message())
    }
}

/// A name from outside, in one line.
pub fn shown(name: &str) -> String {
    name.escape_debug().to_string()
}
