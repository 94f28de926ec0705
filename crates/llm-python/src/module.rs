//! Functions without a class, and what Python imports.

use crate::arrays::maybe_whole;
use crate::errors::DivergedError;
use crate::keywords;
use crate::trainer::Trainer;
use crate::work::apart;
use llm_core::buffer::{self, Still};
use llm_run::defaults::{STORY_COUNT, STORY_SEED};
use numpy::PyArray1;
use pyo3::prelude::*;
use std::cell::RefCell;

/// The built-in stories as one text: those of which `Trainer()` without data learns most and keeps the
/// last ones unseen; or `count` of them, or those of another `seed`.
#[pyfunction]
#[pyo3(signature = (count=None, seed=None))]
fn stories(
    py: Python<'_>,
    #[pyo3(from_py_with = maybe_whole)] count: Option<u64>,
    #[pyo3(from_py_with = maybe_whole)] seed: Option<u64>,
) -> PyResult<String> {
    let (count, seed) = (count.unwrap_or(STORY_COUNT), seed.unwrap_or(STORY_SEED));
    apart(py, 1, move || Ok((0..count).map(|i| llm_stories::story(seed, i).text).collect()))
}

/// Name, meaning and default of every setting, a line each.
#[pyfunction]
fn settings_help() -> String {
    keywords::help()
}

thread_local! {
    /// Held by the thread that forks while it does.
    static STILL: RefCell<Option<Still>> = const { RefCell::new(None) };
}

/// Before a fork: other threads finish what they do with the recycled storage.
#[pyfunction]
fn _before_fork() {
    // They never wait for the GIL while they hold it.
    STILL.with(|place| *place.borrow_mut() = Some(buffer::still()));
}

/// After it, in both processes.
#[pyfunction]
fn _after_fork() {
    STILL.with(|place| drop(place.borrow_mut().take()));
}

#[pymodule(gil_used = false)]
fn _traingpt(m: &Bound<'_, PyModule>) -> PyResult<()> {
    // numpy's functions are found now, and not when a signal may come between.
    drop(PyArray1::<f32>::from_vec(m.py(), Vec::new()));
    m.add_class::<Trainer>()?;
    m.add("DivergedError", m.py().get_type::<DivergedError>())?;
    m.add_function(wrap_pyfunction!(stories, m)?)?;
    m.add_function(wrap_pyfunction!(settings_help, m)?)?;
    m.add_function(wrap_pyfunction!(_before_fork, m)?)?;
    m.add_function(wrap_pyfunction!(_after_fork, m)?)?;
    m.add("__version__", env!("CARGO_PKG_VERSION"))
}
