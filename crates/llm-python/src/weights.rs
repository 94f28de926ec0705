//! Its weights.

use crate::arrays::{copy, floats};
use crate::trainer::Trainer;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

#[pymethods]
impl Trainer {
    /// Copies of all weights by their names, `float32`, in the order of the equations.
    fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.worker.now(py, |inner| {
            let all = PyDict::new(py);
            for (name, weight) in inner.run.model.parameters() {
                all.set_item(name, copy(py, weight.shape(), weight.data())?)?;
            }
            Ok(all)
        })
    }

    /// Sets all weights: every name with an array of numbers of its shape, or nothing is changed. The
    /// optimizer keeps its state.
    fn load_state_dict(&self, py: Python<'_>, state: &Bound<'_, PyAny>) -> PyResult<()> {
        self.worker.now(py, |inner| {
            let mut new = Vec::new();
            for (name, weight) in inner.run.model.parameters() {
                let missing = || PyKeyError::new_err(format!("{name} is missing"));
                let value = state.get_item(&name).map_err(|_| missing())?;
                let (numbers, shape) = floats(&value, &name)?;
                if shape != weight.shape() {
                    let needed = weight.shape();
                    return Err(PyValueError::new_err(format!(
                        "{name}: an array of shape {needed:?} is needed, not {shape:?}"
                    )));
                }
                if let Some(bad) = numbers.iter().find(|x| !x.is_finite()) {
                    return Err(PyValueError::new_err(format!(
                        "{name}: {bad} is no finite number"
                    )));
                }
                new.push(numbers);
            }
            for key in state.try_iter()? {
                let key: String = key?.extract()?;
                if !inner.run.model.parameters().any(|(name, _)| name == key) {
                    let why = format!("{key} is no weight of this model");
                    return Err(PyKeyError::new_err(why));
                }
            }
            let weights = inner.run.model.parameters_mut().zip(new);
            weights.for_each(|((_, weight), new)| weight.data_mut().copy_from_slice(&new));
            Ok(())
        })
    }
}
