//! Several processes on one training step, over the MPI library of the machine.
//!
//! MPI is what clusters have: it starts processes, carries messages over whatever network there is,
//! and ends all when one is lost. This crate opens the library when it runs, so that a program
//! built with nothing but Rust runs alone, under Open MPI and under MPICH. The order of additions
//! is not MPI's, which promises none, but that of [`llm_core::crew`]: results have the same bits
//! for every number of processes.
//!
//! Each module imports only from those above it:
//!
//! | module | holds |
//! |---|---|
//! | `launcher.rs` | [`Launcher`]: has somebody started several of us? |
//! | `abi.rs` | the numbers and names in which the libraries differ |
//! | `library.rs` | the functions of the opened library |
//! | `member.rs` | [`MpiCrew`]: a member of the crew |
//!
//! `unsafe` is denied but for `library.rs`, which opens the library, and `member.rs`, which calls
//! it; every call names its contract.

#[cfg(unix)]
mod abi;
mod launcher;
#[cfg(unix)]
mod library;
#[cfg(unix)]
mod member;
#[cfg(not(unix))]
mod without;

pub use launcher::Launcher;
#[cfg(unix)]
pub use member::MpiCrew;
#[cfg(not(unix))]
pub use without::MpiCrew;

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
        /// Its name.
        library: String,
    },
    /// A call at the start failed.
    #[error("{call} failed: {reason}")]
    Call {
        /// Which one.
        call: &'static str,
        /// What the library says.
        reason: String,
    },
}
