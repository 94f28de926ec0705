//! The tensors that a file must have.

use crate::error::{Result, refuse, shown};
use llm_core::message;
use safetensors::tensor::Dtype;
use std::collections::HashMap;

/// A tensor that a file must have.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Name in the file.
    pub name: String,
    /// Lengths of the axes, row-major.
    pub shape: Vec<usize>,
    /// F32, which may be stored with fewer bits, or U8.
    pub dtype: Dtype,
}

impl Wanted {
    /// A parameter.
    pub fn parameter(name: String, shape: Vec<usize>) -> Wanted {
        Wanted { name, shape, dtype: Dtype::F32 }
    }
}

/// For each tensor that was found, by name and shape, its place among the `wanted`; `None` for one
/// that is `ignored`.
///
/// # Errors
/// [`FormatError::Content`] when a tensor is missing, unknown or of another shape.
pub(crate) fn places<'f>(
    wanted: &[Wanted],
    found: impl Iterator<Item = (&'f str, &'f [usize])>,
    ignored: impl Fn(&str) -> bool,
) -> Result<Vec<Option<usize>>> {
    let numbers: HashMap<&str, usize> =
        wanted.iter().enumerate().map(|(i, wanted)| (wanted.name.as_str(), i)).collect();
    let (mut places, mut shapes) = (Vec::new(), vec![None; wanted.len()]);
    for (name, shape) in found {
        let place = numbers.get(name).copied();
        match place {
            Some(i) => shapes[i] = Some(shape),
            None if ignored(name) => {}
            None => {
                return refuse(message!("tensor {} does not belong to this model", shown(name)));
            }
        }
        places.push(place);
    }
    // In the list's order, so that a message names the first that does not fit.
    for (Wanted { name, shape, .. }, found) in wanted.iter().zip(shapes) {
        let why = match found {
            Some(found) if found == shape => continue,
            Some(found) => message!(
                "tensor {} is {}, this model needs {}",
                shown(name),
                format_args!("{found:?}"),
                format_args!("{shape:?}")
            ),
            None => message!("tensor {} is missing", name),
        };
        return refuse(why);
    }
    Ok(places)
}

/// `Err` unless every number of a tensor is finite.
pub(crate) fn finite(name: &str, numbers: &[f32]) -> Result<()> {
    match numbers.iter().all(|x| x.is_finite()) {
        true => Ok(()),
        false => {
            let why = message!("tensor {} has a value that is not finite", shown(name));
            refuse(why)
        }
    }
}
