//! The weights of a trainer.

use crate::arrays::{copy, floats};
use crate::trainer::Trainer;
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};

#[pymethods]
impl Trainer {
    /// Copies of all weights by their names, `float32`, in the order of the equations; of a model with an adapter
    /// those of the adapter alone, `.lora_a` and `.lora_b` of each matrix: the others never change.
    fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.worker.now(py, |inner| {
            let all = PyDict::new(py);
            for (name, weight) in inner.plan.trainer.model.trained() {
                all.set_item(name, copy(py, weight.shape(), weight.data())?)?;
            }
            Ok(all)
        })
    }

    /// Sets the weights that `state_dict` has: every name with an array of numbers of its shape, or nothing is changed. The
    /// optimizer keeps its state.
    fn load_state_dict(&self, py: Python<'_>, state: &Bound<'_, PyAny>) -> PyResult<()> {
        let mapping = || PyTypeError::new_err("expected a dict of names and arrays");
        let state = state.cast::<PyMapping>().map_err(|_| mapping())?;
        let given: Vec<String> = state.keys()?.extract().map_err(|_| mapping())?;
        self.worker.now(py, |inner| {
            let names: Vec<String> =
                inner.plan.trainer.model.trained().map(|(name, _)| name).collect();
            fits(&names, &given)?;
            let mut new = Vec::new();
            for (name, weight) in inner.plan.trainer.model.trained() {
                let value = state.get_item(&name)?;
                let (numbers, shape) = floats(&value, &name)?;
                if shape != weight.shape() {
                    let needed = weight.shape();
                    return Err(PyValueError::new_err(format!(
                        "{name}: expected an array of shape {needed:?}, not {shape:?}"
                    )));
                }
                if let Some(bad) = numbers.iter().find(|x| !x.is_finite()) {
                    return Err(PyValueError::new_err(format!(
                        "{name}: {bad} is no finite number"
                    )));
                }
                new.push(numbers);
            }
            let weights = inner.plan.trainer.model.trained_mut().zip(new);
            weights.for_each(|((_, weight), new)| weight.data_mut().copy_from_slice(&new));
            Ok(())
        })
    }
}

/// `KeyError` with all names that are missing and all that the model does not have.
fn fits(names: &[String], given: &[String]) -> PyResult<()> {
    let beyond = |all: &[String], known: &[String]| -> Option<String> {
        let beyond: Vec<_> = all.iter().filter(|name| !known.contains(name)).cloned().collect();
        (!beyond.is_empty()).then(|| beyond.join(", "))
    };
    let missing = beyond(names, given).map(|names| format!("missing: {names}"));
    let unknown = beyond(given, names).map(|names| format!("no weights of this model: {names}"));
    let wrong: Vec<_> = missing.into_iter().chain(unknown).collect();
    if wrong.is_empty() { Ok(()) } else { Err(PyKeyError::new_err(wrong.join("; "))) }
}
