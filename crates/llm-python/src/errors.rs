//! Errors of the libraries as exceptions.

use crate::words::said;
use llm_core::{Error, message};
use llm_formats::error::FormatError;
use llm_formats::first_look::Look;
use llm_run::RunError;
use llm_run::error::Kind;
use pyo3::PyErr;
use pyo3::exceptions::{
    PyArithmeticError, PyFileNotFoundError, PyMemoryError, PyOSError, PyPermissionError,
    PyRuntimeError, PyValueError,
};
use std::io::ErrorKind;
use std::path::Path;

pyo3::create_exception!(
    traingpt,
    DivergedError,
    PyArithmeticError,
    "The loss, a gradient or a weight is no finite number. A step that would have led there was not \
     taken: the trainer is as it was after the step before, and can be saved."
);

/// The exception of an error: `ValueError`, `FileNotFoundError`, `PermissionError`, `OSError`,
/// `MemoryError`, `DivergedError`, or `RuntimeError` for a fault of this package.
pub fn raised(error: impl Into<RunError>) -> PyErr {
    let error = error.into();
    let with = |more: &str| said(&error.message()) + more;
    let text = match &error {
        RunError::Core { source: Error::NumbersOnly, .. } => {
            "this model knows token numbers and no text: give it numbers, generate() writes them"
                .into()
        }
        RunError::Foreign { look, .. } => match look {
            Look::HuggingFace => with("; Trainer.from_hf() reads it"),
            Look::Safetensors => with("; Trainer.from_hf() reads the folder of a model"),
            Look::Gguf => with("; Trainer.from_gguf() reads it"),
            _ => with(""),
        },
        _ => with(""),
    };
    match error.kind() {
        Kind::Diverged => DivergedError::new_err(text),
        Kind::NoMemory => PyMemoryError::new_err(text),
        Kind::NoInput | Kind::CannotCreate | Kind::Io | Kind::Busy => match io_kind(&error) {
            Some(ErrorKind::NotFound) => PyFileNotFoundError::new_err(text),
            Some(ErrorKind::PermissionDenied) => PyPermissionError::new_err(text),
            _ => PyOSError::new_err(text),
        },
        Kind::Internal => match &error {
            // What was given does not fit the model.
            RunError::Core { source: Error::Shape { .. }, .. } => PyValueError::new_err(text),
            _ => PyRuntimeError::new_err(text),
        },
        _ => PyValueError::new_err(text),
    }
}

/// What the system said.
fn io_kind(error: &RunError) -> Option<ErrorKind> {
    match error {
        RunError::Core { source: Error::Io { source, .. }, .. } => Some(source.kind()),
        RunError::Input { path, .. } if !path.exists() => Some(ErrorKind::NotFound),
        _ => None,
    }
}

/// An error of a format of other programs, about what is at `path`.
pub fn of_format(error: FormatError, path: &Path) -> RunError {
    match error {
        FormatError::File { path, error } => of_format(*error, &path),
        FormatError::Missing { advice } => RunError::Input { path: path.into(), why: advice },
        FormatError::Core(source) => source.into(),
        other => RunError::Data(message!("'{}': {}", path.display(), other.message())),
    }
}
