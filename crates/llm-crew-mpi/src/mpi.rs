//! What is asked of an MPI library.

#![allow(unsafe_code)] // calls with a contract are declared here

use crate::error::MpiError;
use std::fmt::Debug;

/// An MPI library in this process, started.
///
/// The library is asked to be one that may be called from any thread, but by one at a time. So this is
/// `Send` and must not be made `Sync`.
pub trait Mpi: Debug + Send {
    /// What it calls itself.
    fn name(&self) -> &str;

    /// The number of this process, and how many there are.
    fn rank_and_size(&self) -> Result<(usize, usize), MpiError>;

    /// Begins to send bytes to a process.
    ///
    /// # Safety
    /// The bytes stay where they are, unchanged, until [`Mpi::is_done`] says that they are gone, or
    /// the process ends.
    unsafe fn send(&self, bytes: &[u8], to: usize) -> Result<Request, MpiError>;

    /// Begins to receive as many bytes from a process.
    ///
    /// # Safety
    /// The bytes stay where they are, and are not read, until [`Mpi::is_done`] says that
    /// they came, or the process ends.
    unsafe fn receive(&self, bytes: &mut [u8], from: usize) -> Result<Request, MpiError>;

    /// Whether the message has gone, or come. Messages move on while this is called.
    fn is_done(&self, request: &mut Request) -> Result<bool, MpiError>;

    /// Ends all processes, this one too.
    fn abort(&self, code: i32) -> !;

    /// The end of a run that all come to: waits for the others. Called on the thread that has
    /// started the library. A library that would keep the process is not waited for, and the
    /// process ends here, with this exit code.
    fn finish(self: Box<Self>, code: i32) -> Result<(), MpiError>;
}

/// A message under way.
#[derive(Debug)]
#[cfg_attr(not(unix), allow(dead_code))] // never made where no library is known
pub struct Request {
    /// Memory for the library's handle, which is as wide as an address or less. It is written and
    /// read by the library alone, always at its beginning: the order of its bytes does not matter.
    pub handle: usize,
    /// How many bytes must come, when this is one to receive.
    pub expected: Option<usize>,
}
