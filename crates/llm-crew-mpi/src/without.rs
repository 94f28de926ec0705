//! Where no MPI library is known: systems other than Unix.

use crate::error::MpiError;
use crate::launcher::Launcher;
use crate::mpi::Mpi;
use llm_core::message;

/// Refuses.
///
/// # Errors
/// [`MpiError::Missing`].
pub fn start(_: Option<Launcher>, _: Option<&str>) -> Result<Box<dyn Mpi>, MpiError> {
    Err(MpiError::Missing { reason: message!("none is known on this system") })
}
