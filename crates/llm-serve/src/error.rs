//! Refusals, as clients of OpenAI's API know them.

use llm_core::Error;
use serde_json::{Value, json};

/// Why a request is not answered.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// Status of HTTP.
    pub status: u16,
    pub message: String,
    /// The field that it is about.
    pub param: Option<String>,
    /// A word for programs.
    pub code: Option<&'static str>,
}

/// `Result` with [`Refusal`].
pub type Res<T> = Result<T, Refusal>;

impl Refusal {
    pub fn new(status: u16, message: impl Into<String>) -> Refusal {
        Refusal { status, message: message.into(), param: None, code: None }
    }

    /// A field that cannot be, of the name that stands first in quotes.
    pub fn field(name: &str, why: &str) -> Refusal {
        let name: String = name.chars().take(64).collect();
        Refusal { param: Some(name.clone()), ..Refusal::new(400, format!("'{name}': {why}")) }
    }

    pub fn coded(self, code: &'static str) -> Refusal {
        Refusal { code: Some(code), ..self }
    }

    /// What the model said of its settings, or of itself.
    pub fn of_model(error: Error) -> Refusal {
        match &error {
            Error::Config { field, reason } => Refusal::field(field, &reason.to_string()),
            other => Refusal::new(500, other.to_string()),
        }
    }

    /// OpenAI's error object.
    pub fn json(&self) -> Value {
        let kind = match self.status {
            401 | 403 => "authentication_error",
            429 => "rate_limit_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        };
        let Refusal { message, param, code, .. } = self;
        json!({"error": {"message": message, "type": kind, "param": param, "code": code}})
    }
}

/// A value of another kind than is expected.
pub fn expected(name: &str, what: &str) -> Refusal {
    Refusal::field(name, &format!("expected {what}"))
}

/// The server ends.
pub fn stopping() -> Refusal {
    Refusal::new(503, "the server stops").coded("server_stopping")
}
