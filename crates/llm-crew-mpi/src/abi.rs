//! The numbers and names in which MPI libraries differ.
//!
//! The standard fixes what functions are called and what they do, but until version 5 neither what
//! a handle is nor its value. In Open MPI a handle is the address of an object, in MPICH a number
//! of 32 bits. Both fit into a register, which is where the calling conventions of x86-64 and
//! AArch64 look for them, so one declaration with a handle as wide as an address serves both: MPICH
//! reads the lower half.
//!
//! Sources: `mpi.h` of Open MPI 4.1 and 5.0 and of MPICH 4.0.

use std::ffi::CStr;

/// A handle, as wide as the widest.
pub type Handle = usize;

/// How a library writes its handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abi {
    /// Addresses of named objects.
    OpenMpi,
    /// Fixed numbers.
    Mpich,
}

/// Where the value of a handle is found.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// The address of this object of the library.
    Symbol(&'static CStr),
    /// This number.
    Number(Handle),
}

/// The names of the libraries, the better known first.
pub const NAMES: [(Abi, &CStr); 4] = [
    (Abi::OpenMpi, c"libmpi.so.40"),
    (Abi::Mpich, c"libmpich.so.12"),
    (Abi::Mpich, c"libmpi.so.12"),
    (Abi::OpenMpi, c"libmpi.40.dylib"),
];

impl Abi {
    /// MPI_COMM_WORLD: all processes.
    pub fn world(self) -> Value {
        match self {
            Abi::OpenMpi => Value::Symbol(c"ompi_mpi_comm_world"),
            Abi::Mpich => Value::Number(0x4400_0000),
        }
    }

    /// MPI_BYTE.
    pub fn byte(self) -> Value {
        match self {
            Abi::OpenMpi => Value::Symbol(c"ompi_mpi_byte"),
            Abi::Mpich => Value::Number(0x4c00_010d),
        }
    }

    /// MPI_FLOAT.
    pub fn float(self) -> Value {
        match self {
            Abi::OpenMpi => Value::Symbol(c"ompi_mpi_float"),
            Abi::Mpich => Value::Number(0x4c00_040a),
        }
    }

    /// MPI_SUM.
    pub fn sum(self) -> Value {
        match self {
            Abi::OpenMpi => Value::Symbol(c"ompi_mpi_op_sum"),
            Abi::Mpich => Value::Number(0x5800_0003),
        }
    }

    /// MPI_ERRORS_RETURN.
    pub fn errors_return(self) -> Value {
        match self {
            Abi::OpenMpi => Value::Symbol(c"ompi_mpi_errors_return"),
            Abi::Mpich => Value::Number(0x5400_0001),
        }
    }
}

/// MPI_THREAD_SERIALIZED, the same in both: any thread may call, one at a time.
pub const SERIALIZED: i32 = 2;
