//! Writing: streamed into a replacement of the file, never a second model in memory.

use super::Dtype;
use ::safetensors::tensor::{Metadata, TensorInfo};
use llm_core::base::replace_file;
use llm_core::buffer::Preview;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;

/// Tensors pass through a buffer of about this many numbers.
const PIECE: usize = 1 << 14;

/// Fills rows of a tensor, from a first one on.
pub type Fill<'a> = Box<dyn Fn(usize, &mut [f32]) + 'a>;

/// The elements of a tensor to be written, row-major.
pub enum Data<'a> {
    /// Numbers that are in memory.
    Floats(Cow<'a, [f32]>),
    /// Numbers that are made while they are written, some rows a time.
    Rows(Fill<'a>),
    /// Bytes that are no numbers.
    Bytes(Cow<'a, [u8]>),
}

impl fmt::Debug for Data<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Data::Floats(values) => f.debug_tuple("Floats").field(&Preview(values)).finish(),
            Data::Rows(_) => f.debug_struct("Rows").finish_non_exhaustive(),
            Data::Bytes(values) => f.debug_tuple("Bytes").field(&Preview(values)).finish(),
        }
    }
}

/// A tensor to be written.
#[derive(Debug)]
pub struct Named<'a> {
    /// Name in the file.
    pub name: String,
    /// Lengths of the axes in the file.
    pub shape: Vec<usize>,
    /// Elements of the tensor.
    pub data: Data<'a>,
}

impl Named<'_> {
    fn dtype(&self) -> Dtype {
        match self.data {
            Data::Floats(_) | Data::Rows(_) => Dtype::F32,
            Data::Bytes(_) => Dtype::U8,
        }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match &self.data {
            Data::Bytes(bytes) => out.write_all(bytes),
            Data::Floats(values) => values.chunks(PIECE).try_for_each(|v| write_floats(out, v)),
            Data::Rows(make) => {
                let width = self.shape.last().copied().unwrap_or(1).max(1);
                let rows = self.shape.iter().product::<usize>() / width;
                let mut piece = Vec::new();
                for (first, count) in pieces(rows, width) {
                    piece.resize(count * width, 0.0);
                    make(first, &mut piece);
                    write_floats(out, &piece)?;
                }
                Ok(())
            }
        }
    }
}

/// The rows of a tensor in parts: the first one and the number of each.
pub(crate) fn pieces(rows: usize, width: usize) -> impl Iterator<Item = (usize, usize)> {
    // A multiple of 16 rows, so that a transposed one is read along its own rows.
    let at_once = (PIECE / width).max(1).next_multiple_of(16);
    (0..rows).step_by(at_once).map(move |first| (first, at_once.min(rows - first)))
}

fn write_floats(out: &mut dyn Write, values: &[f32]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(4 * values.len());
    values.iter().for_each(|x| bytes.extend(x.to_le_bytes()));
    out.write_all(&bytes)
}

/// Writes a file with these tensors and one entry of metadata; `path` then holds all of it, or,
/// when this fails, what was there before. Equal contents give equal bytes.
///
/// # Errors
/// What the system says.
pub fn write(path: &Path, (key, value): (&str, &str), mut all: Vec<Named<'_>>) -> io::Result<()> {
    // Wider elements first, so that all of them are aligned.
    all.sort_by(|a, b| b.dtype().cmp(&a.dtype()).then_with(|| a.name.cmp(&b.name)));
    let mut end = 0usize;
    let entry = |tensor: &Named<'_>| {
        let (start, shape) = (end, tensor.shape.clone());
        end += shape.iter().product::<usize>() * tensor.dtype().bitsize() / 8;
        let info = TensorInfo { dtype: tensor.dtype(), shape, data_offsets: (start, end) };
        (tensor.name.clone(), info)
    };
    let entries = all.iter().map(entry).collect();
    let metadata = HashMap::from([(key.to_string(), value.to_string())]);
    let header = Metadata::new(Some(metadata), entries).map_err(io::Error::other)?;
    let mut header = serde_json::to_vec(&header)?;
    header.resize(header.len().next_multiple_of(8), b' ');
    replace_file(path, |out| {
        out.write_all(&(header.len() as u64).to_le_bytes())?;
        out.write_all(&header)?;
        all.iter().try_for_each(|tensor| tensor.write(out))
    })
}
