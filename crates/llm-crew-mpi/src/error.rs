//! What can be wrong with an MPI library.

use llm_core::base::Message;
use llm_core::message;
use std::fmt;

/// Why there is no crew.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MpiError {
    /// No library that is known.
    Missing {
        /// What was tried, and what the system said.
        reason: Message,
    },
    /// A library, but another than the one that started the processes.
    Other {
        /// What the launcher said.
        started: usize,
        /// What the library said.
        known: usize,
        /// What it calls itself.
        library: String,
    },
    /// A call failed.
    Call {
        /// Which one.
        call: &'static str,
        /// What the library says.
        reason: Message,
    },
}

impl MpiError {
    /// The sentence, for any language.
    pub fn message(&self) -> Message {
        match self {
            MpiError::Missing { reason } => message!("no MPI library: {}", reason.clone()),
            MpiError::Other { started, known, library } => message!(
                "started as one of {} processes, but {} knows of {}; LLM_MPI names another library",
                *started,
                library,
                *known
            ),
            MpiError::Call { call, reason } => message!("{} failed: {}", *call, reason.clone()),
        }
    }
}

impl fmt::Display for MpiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message().fmt(f)
    }
}
