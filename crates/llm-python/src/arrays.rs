//! Arrays of numpy, in and out.

use numpy::ndarray::ArrayD;
use numpy::{IntoPyArray, PyArray1, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// An array `float32` of numbers in rows.
///
/// # Errors
/// `ValueError` when there are not as many as the shape says.
pub fn array<'py>(
    py: Python<'py>,
    shape: &[usize],
    numbers: Vec<f32>,
) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
    let array = ArrayD::from_shape_vec(shape, numbers);
    let array = array.map_err(|e| pyo3::exceptions::PyValueError::new_err(e.to_string()))?;
    Ok(array.into_pyarray(py))
}

/// A copy of numbers as an array `float32`.
///
/// # Errors
/// As [`array`].
pub fn copy<'py>(
    py: Python<'py>,
    shape: &[usize],
    numbers: &[f32],
) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
    PyArray1::from_slice(py, numbers).reshape(shape.to_vec())
}

/// Whole numbers of any integer type, whatever the array's strides, and their shape.
///
/// # Errors
/// `TypeError` for anything else.
pub fn whole_numbers(data: &Bound<'_, PyAny>) -> PyResult<(Vec<i64>, Vec<usize>)> {
    let needed = || {
        PyTypeError::new_err("a text, bytes, a path, paths or an array of token numbers is needed")
    };
    let numpy = data.py().import("numpy")?;
    let found = numpy.call_method1("asarray", (data,)).map_err(|_| needed())?;
    let kind: String = found.getattr("dtype")?.getattr("kind")?.extract()?;
    let empty = found.getattr("size")?.extract::<usize>()? == 0;
    if !["i", "u"].contains(&kind.as_str()) && !empty {
        return Err(match kind.as_str() {
            "f" | "b" | "c" => PyTypeError::new_err("token numbers are whole numbers"),
            _ => needed(),
        });
    }
    let found = in_rows(&found, "int64")?;
    let found: PyReadonlyArrayDyn<'_, i64> = found.extract().map_err(|_| needed())?;
    Ok((found.as_slice()?.to_vec(), found.as_array().shape().to_vec()))
}

/// Numbers of any type as f32, and their shape; `name` is what errors call them.
///
/// # Errors
/// `TypeError` for what are no numbers.
pub fn floats(data: &Bound<'_, PyAny>, name: &str) -> PyResult<(Vec<f32>, Vec<usize>)> {
    let needed = || PyTypeError::new_err(format!("{name}: an array of numbers is needed"));
    let numpy = data.py().import("numpy")?;
    let found = numpy.call_method1("asarray", (data,)).map_err(|_| needed())?;
    let kind: String = found.getattr("dtype")?.getattr("kind")?.extract()?;
    if !["f", "i", "u"].contains(&kind.as_str()) {
        return Err(needed());
    }
    let found = in_rows(&found, "float32")?;
    let found: PyReadonlyArrayDyn<'_, f32> = found.extract().map_err(|_| needed())?;
    Ok((found.as_slice()?.to_vec(), found.as_array().shape().to_vec()))
}

/// The same array of this type, its numbers one after the other; a copy only where it has to be one.
fn in_rows<'py>(array: &Bound<'py, PyAny>, kind: &str) -> PyResult<Bound<'py, PyAny>> {
    let options = PyDict::new(array.py());
    options.set_item("dtype", kind)?;
    options.set_item("order", "C")?;
    array.py().import("numpy")?.call_method("asarray", (array,), Some(&options))
}
