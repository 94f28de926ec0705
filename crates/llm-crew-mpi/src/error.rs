//! What can be wrong with an MPI library.

/// Why there is no crew.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MpiError {
    /// No library that is known.
    #[error("no MPI library: {reason}")]
    Missing {
        /// What was tried, and what the system said.
        reason: String,
    },
    /// A library, but another than the one that started the processes.
    #[error(
        "started as one of {started} processes, but {library} knows of {known}; LLM_MPI names another library"
    )]
    Other {
        /// What the launcher said.
        started: usize,
        /// What the library said.
        known: usize,
        /// What it calls itself.
        library: String,
    },
    /// A call failed.
    #[error("{call} failed: {reason}")]
    Call {
        /// Which one.
        call: &'static str,
        /// What the library says.
        reason: String,
    },
}
