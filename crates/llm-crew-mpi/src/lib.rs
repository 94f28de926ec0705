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
//! | `error` | [`MpiError`]: what can be wrong with a library |
//! | `launcher` | [`Launcher`]: whether this process was started as one of several |
//! | `mpi` | what is asked of a library |
//! | `file` | an opened library file |
//! | `handle` | handles: that in which the libraries differ |
//! | `table` | the functions of a library, with handles as it has them |
//! | `library`, `without` | finds the machine's library and starts it; where none is known |
//! | `patience` | how a rank waits for another |
//! | `line` | messages come through, or all processes end |
//! | `member` | [`MpiCrew`]: a rank of the process group |
//!
//! `unsafe` is denied but for these fenced files:
//!
//! | file | why |
//! |---|---|
//! | `mpi.rs` | declares the calls that have a contract |
//! | `file.rs` | the system's loader: names become functions |
//! | `handle.rs` | an address that goes from one thread to another |
//! | `table.rs`, `library.rs` | calls into the library |
//! | `line.rs` | bytes that belong to the library while a message is under way |

mod error;
#[cfg(unix)]
mod file;
#[cfg(unix)]
mod handle;
#[cfg(unix)]
#[cfg(test)]
mod headers;
mod launcher;
#[cfg(unix)]
mod library;
mod line;
mod member;
mod mpi;
mod patience;
#[cfg(unix)]
mod table;
#[cfg(not(unix))]
mod without;

pub use error::MpiError;
pub use launcher::Launcher;
pub use line::LastWords;
pub use member::MpiCrew;
