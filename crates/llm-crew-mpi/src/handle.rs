//! Handles: that in which MPI libraries differ.
//!
//! The standard fixes what functions are called and what they do; until version 5 neither what a
//! handle is nor its value. In Open MPI a handle is the address of an object, in MPICH and its kin
//! (Intel MPI, MVAPICH, Cray's) a number. The rest that is used here is the same in both.
//!
//! Sources: `mpi.h` of Open MPI 4.1 and of MPICH 4.0; `headers.rs` compares with those that are
//! installed.

use crate::error::MpiError;
use crate::file::File;
use std::ffi::{CStr, c_int, c_void};
use std::fmt::Debug;

/// The values that are needed of those that a library brings along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constant {
    /// `MPI_COMM_WORLD`: all processes.
    World,
    /// `MPI_BYTE`.
    Byte,
    /// `MPI_ERRORS_RETURN`: a call that fails says so, and does not end the process.
    ErrorsReturn,
}

/// A handle as a library's functions take it.
///
/// Handles of all kinds (`MPI_Comm`, `MPI_Datatype`, `MPI_Request`, `MPI_Errhandler`) are of one
/// type here; C has a name for each, of the same width and the same way into a call.
pub trait Handle: Copy + Debug + Send + 'static {
    /// The constant's value in this library.
    ///
    /// # Errors
    /// [`MpiError::Missing`].
    fn of(constant: Constant, file: File) -> Result<Self, MpiError>;
}

/// A handle of MPICH and its kin.
pub type Number = c_int;

impl Handle for Number {
    fn of(constant: Constant, _: File) -> Result<Number, MpiError> {
        Ok(number(constant))
    }
}

/// MPICH's value.
pub const fn number(constant: Constant) -> Number {
    match constant {
        Constant::World => 0x4400_0000,
        Constant::Byte => 0x4c00_010d,
        Constant::ErrorsReturn => 0x5400_0001,
    }
}

/// A handle of Open MPI.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Address(*mut c_void);

#[allow(unsafe_code)]
// SAFETY: nothing here reads what is there; the library does, and it may be called from every
// thread in turn.
unsafe impl Send for Address {}

impl Handle for Address {
    fn of(constant: Constant, file: File) -> Result<Address, MpiError> {
        file.symbol(object(constant)).map(Address)
    }
}

/// The object of Open MPI's library whose address is the value.
pub const fn object(constant: Constant) -> &'static CStr {
    match constant {
        Constant::World => c"ompi_mpi_comm_world",
        Constant::Byte => c"ompi_mpi_byte",
        Constant::ErrorsReturn => c"ompi_mpi_errors_return",
    }
}
