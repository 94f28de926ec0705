//! What can go wrong on the way to a GPU.

use std::fmt;

/// Why there is no step on a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GpuError {
    /// No adapter, or none of the asked name.
    NoAdapter {
        /// A part of a name.
        asked: Option<String>,
        /// The names of those that are there.
        there: Vec<String>,
    },
    /// An op that has no kernels, or not for what it is asked to do.
    NoKernels {
        /// Its name.
        op: &'static str,
        /// What is missing; empty: the op itself.
        why: String,
    },
    /// A parameter that the loss does not depend on, or a list that is not one of a loss.
    List(String),
    /// What the device or its driver says.
    Device(String),
}

impl GpuError {
    pub(crate) fn no(op: &'static str, why: impl Into<String>) -> GpuError {
        GpuError::NoKernels { op, why: why.into() }
    }
}

impl fmt::Display for GpuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GpuError::NoAdapter { asked, there } => {
                match asked {
                    Some(name) => write!(f, "no GPU is called '{name}'")?,
                    None => write!(f, "no GPU was found")?,
                }
                if there.is_empty() {
                    Ok(())
                } else {
                    write!(f, "; there are: {}", there.join(", "))
                }
            }
            GpuError::NoKernels { op, why } if why.is_empty() => {
                write!(f, "'{op}' has no kernels for a GPU; this model trains on the processor")
            }
            GpuError::NoKernels { op, why } => {
                write!(
                    f,
                    "'{op}' has no kernels for a GPU {why}; this model trains on the processor"
                )
            }
            GpuError::List(what) => f.write_str(what),
            GpuError::Device(said) => write!(f, "the GPU: {said}"),
        }
    }
}

impl std::error::Error for GpuError {}

/// A result with this error.
pub type Result<T, E = GpuError> = std::result::Result<T, E>;
