//! Arrays of numpy, in and out.

use numpy::ndarray::ArrayD;
use numpy::{Element, IntoPyArray, PyArray1, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

/// A whole number of 0 or more, which `True` does not count as.
///
/// # Errors
/// `TypeError` for what is no whole number, `ValueError` for one that is too small or too large.
pub fn whole<T: TryFrom<i128>>(value: &Bound<'_, PyAny>) -> PyResult<T> {
    let shown = value.repr().map_or_else(|_| "that".into(), |shown| shown.to_string());
    let outside = || PyValueError::new_err(format!("{shown} is no whole number of 0 or more"));
    if value.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err(format!("{shown} is no whole number")));
    }
    let number: i128 = value.extract().map_err(|e: PyErr| {
        match e.is_instance_of::<PyOverflowError>(value.py()) {
            true => outside(),
            false => PyTypeError::new_err(format!("{shown} is no whole number")),
        }
    })?;
    T::try_from(number).map_err(|_| outside())
}

/// [`whole`], or `None`.
///
/// # Errors
/// As [`whole`].
pub fn maybe_whole<T: TryFrom<i128>>(value: &Bound<'_, PyAny>) -> PyResult<Option<T>> {
    if value.is_none() { Ok(None) } else { whole(value).map(Some) }
}

/// An array `float32` of Python.
pub type Numbers<'py> = Bound<'py, PyArrayDyn<f32>>;

/// An array of what stands in rows, `float32` of f32.
///
/// # Errors
/// `ValueError` when there are not as many as the shape says.
pub fn array<'py, T: Element>(
    py: Python<'py>,
    shape: &[usize],
    numbers: Vec<T>,
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    let array = ArrayD::from_shape_vec(shape, numbers);
    let array = array.map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(array.into_pyarray(py))
}

/// A copy of numbers as an array `float32`.
///
/// # Errors
/// As [`array`].
pub fn copy<'py>(py: Python<'py>, shape: &[usize], numbers: &[f32]) -> PyResult<Numbers<'py>> {
    PyArray1::from_slice(py, numbers).reshape(shape.to_vec())
}

/// Whole numbers of any integer type, whatever the array's strides, and their shape; `wanted` is what
/// errors say that was expected.
///
/// # Errors
/// `TypeError` for anything else.
pub fn whole_numbers(data: &Bound<'_, PyAny>, wanted: &str) -> PyResult<(Vec<i64>, Vec<usize>)> {
    let needed = || {
        let kind = data.get_type().name().map_or_else(|_| "that".into(), |name| name.to_string());
        PyTypeError::new_err(format!("expected {wanted}, not {kind}"))
    };
    let found = as_array(data).map_err(|_| needed())?;
    let kind: String = found.getattr("dtype")?.getattr("kind")?.extract()?;
    let empty = found.getattr("size")?.extract::<usize>()? == 0;
    if !["i", "u"].contains(&kind.as_str()) && !empty {
        return Err(match kind.as_str() {
            "f" | "b" | "c" | "O" if found.getattr("ndim")?.extract::<usize>()? > 0 => {
                let kind = found.getattr("dtype")?;
                PyTypeError::new_err(format!("token numbers are whole numbers, not of type {kind}"))
            }
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
    let needed = |why: &dyn std::fmt::Display| {
        PyTypeError::new_err(format!("{name}: expected an array of numbers ({why})"))
    };
    let found = as_array(data).map_err(|e| needed(e.value(data.py())))?;
    let dtype = found.getattr("dtype")?;
    let kind: String = dtype.getattr("kind")?.extract()?;
    if !["f", "i", "u"].contains(&kind.as_str()) {
        return Err(needed(&format!("this is of type {dtype}")));
    }
    let found = in_rows(&found, "float32")?;
    let found: PyReadonlyArrayDyn<'_, f32> = found.extract()?;
    Ok((found.as_slice()?.to_vec(), found.as_array().shape().to_vec()))
}

/// As numpy takes it.
fn as_array<'py>(data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    data.py().import("numpy")?.call_method1("asarray", (data,))
}

/// The array in this type, contiguous; a copy only where it has to be one.
fn in_rows<'py>(array: &Bound<'py, PyAny>, kind: &str) -> PyResult<Bound<'py, PyAny>> {
    let options = PyDict::new(array.py());
    options.set_item("dtype", kind)?;
    options.set_item("order", "C")?;
    array.py().import("numpy")?.call_method("asarray", (array,), Some(&options))
}
