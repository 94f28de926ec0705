//! What can be wrong with an MPI library.

use llm_core::base::Message;
use llm_core::says;

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

says! { MpiError {
    Missing { reason } = "no MPI library: {}",
    Other { started, library, known } =
        "started as one of {} processes, but {} knows of {}; LLM_MPI names another library",
    Call { call, reason } = "{} failed: {}",
} }
