//! Reading: everything that the header says is checked before memory is taken for a tensor.

use super::Dtype;
use super::header::{self, MAX_HEADER, Row};
use crate::error::{FormatError, Result, shown};
use llm_core::Error;
use llm_core::base::memory;
use llm_core::buffer::Preview;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::{self, Read};

/// Tensors pass through a buffer of this many bytes, a multiple of four.
const CHUNK: usize = 1 << 16;

/// A file whose header has been read.
pub struct Contents<R> {
    input: R,
    /// In the order of their bytes.
    pub rows: Vec<Row>,
    /// What else the header says.
    pub metadata: BTreeMap<String, String>,
}

impl<R> fmt::Debug for Contents<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contents").field("rows", &self.rows).finish_non_exhaustive()
    }
}

/// A tensor that a file must have.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Its name in the file.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// F32 or U8.
    pub dtype: Dtype,
}

impl Wanted {
    /// A parameter.
    pub fn parameter(name: String, shape: Vec<usize>) -> Wanted {
        Wanted { name, shape, dtype: Dtype::F32 }
    }
}

/// The elements of a tensor, row-major.
pub enum Values {
    /// Of a parameter, all finite.
    Floats(Vec<f32>),
    /// Of anything else.
    Bytes(Vec<u8>),
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Values::Floats(values) => f.debug_tuple("Floats").field(&Preview(values)).finish(),
            Values::Bytes(values) => f.debug_tuple("Bytes").field(&Preview(values)).finish(),
        }
    }
}

impl<R: Read> Contents<R> {
    /// Reads the header of a file of `length` bytes.
    ///
    /// # Errors
    /// [`FormatError::Content`] when it is none within our limits and the format's rules.
    pub fn open(mut input: R, length: u64) -> Result<Contents<R>> {
        let mut start = [0; 8];
        let Some(rest) = length.checked_sub(start.len() as u64) else {
            let why = format!("the file is {length} bytes, too short for a safetensors file");
            return Err(FormatError::content(why));
        };
        input.read_exact(&mut start)?;
        let header = u64::from_le_bytes(start);
        let Some(body) = rest.checked_sub(header) else {
            let why = format!("the file is {length} bytes, but its header alone is {header}");
            return Err(FormatError::content(why));
        };
        if header > MAX_HEADER {
            let why = format!("its header is {header} bytes, the limit is {MAX_HEADER}");
            return Err(FormatError::content(why));
        }
        let mut bytes = vec![0; header as usize];
        input.read_exact(&mut bytes)?;
        let (rows, metadata) = header::parse(&bytes, body)?;
        Ok(Contents { input, rows, metadata })
    }

    /// The tensor of that name.
    pub fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// Reads the tensors that are `wanted`, and hands each with its number in that list to
    /// `take`, in the order of the file. All others must be `ignored`.
    ///
    /// # Errors
    /// [`FormatError::Content`] when a tensor is missing, unknown, of another shape or type, or not
    /// finite; [`FormatError::Core`] when there is too little memory.
    pub fn read(
        mut self,
        wanted: &[Wanted],
        ignored: impl Fn(&str) -> bool,
        mut take: impl FnMut(usize, Values) -> Result<()>,
    ) -> Result<()> {
        let places: HashMap<&str, usize> =
            wanted.iter().enumerate().map(|(i, wanted)| (wanted.name.as_str(), i)).collect();
        let place = |row: Row| (places.get(row.name.as_str()).copied(), row);
        let order: Vec<(Option<usize>, Row)> =
            std::mem::take(&mut self.rows).into_iter().map(place).collect();
        let unknown = |(place, row): &&(Option<usize>, Row)| place.is_none() && !ignored(&row.name);
        if let Some((_, row)) = order.iter().find(unknown) {
            let why = format!("tensor {} does not belong to this model", shown(&row.name));
            return Err(FormatError::content(why));
        }
        let mut found = vec![None; wanted.len()];
        for (place, row) in &order {
            if let Some(i) = place {
                found[*i] = Some(row);
            }
        }
        let mut total = 0u64;
        // In the list's order, so that a message names the first that does not fit.
        for (wanted, row) in wanted.iter().zip(found) {
            let missing = || FormatError::content(format!("tensor {} is missing", wanted.name));
            let row = row.ok_or_else(missing)?;
            check(row, wanted)?;
            total = total.saturating_add(row.length);
        }
        memory::require(total)?;
        let mut chunk = vec![0; CHUNK];
        for (place, row) in order {
            let Some(i) = place else {
                let skipped = io::copy(&mut (&mut self.input).take(row.length), &mut io::sink())?;
                if skipped < row.length {
                    return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
                }
                continue;
            };
            let values = match row.dtype {
                Dtype::U8 => Values::Bytes(self.elements(&row, &mut chunk, |bytes, out| {
                    out.extend_from_slice(bytes);
                })?),
                _ => Values::Floats(self.elements(&row, &mut chunk, |bytes, out| {
                    out.extend(bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)));
                })?),
            };
            if let Values::Floats(values) = &values
                && !values.iter().all(|x| x.is_finite())
            {
                let why = format!("tensor {} has a value that is not finite", shown(&row.name));
                return Err(FormatError::content(why));
            }
            take(i, values)?;
        }
        Ok(())
    }

    /// The elements of one tensor, whose length the settings asked for.
    fn elements<T>(
        &mut self,
        row: &Row,
        chunk: &mut [u8],
        mut add: impl FnMut(&[u8], &mut Vec<T>),
    ) -> Result<Vec<T>> {
        let count = usize::try_from(row.length).map_or(usize::MAX, |n| n / size_of::<T>());
        let mut out = Vec::new();
        out.try_reserve_exact(count).map_err(|_| {
            let (needed, available) = (row.length, memory::available());
            FormatError::Core(Error::Memory { needed, available })
        })?;
        let mut left = row.length;
        while left > 0 {
            let bytes = &mut chunk[..left.min(CHUNK as u64) as usize];
            self.input.read_exact(bytes)?;
            add(bytes, &mut out);
            left -= bytes.len() as u64;
        }
        Ok(out)
    }
}

/// Refuses a tensor of another type or shape than it must have.
fn check(row: &Row, wanted: &Wanted) -> Result<()> {
    let name = shown(&row.name);
    if row.dtype != wanted.dtype {
        let (found, needed) = (row.dtype, wanted.dtype);
        let advice = match (needed, found) {
            (Dtype::F32, Dtype::F16 | Dtype::BF16 | Dtype::F64) => {
                "; convert the model in Python: model.float().save_pretrained(..)"
            }
            _ => "",
        };
        let why = format!("tensor {name} is {found}, only {needed} is read{advice}");
        return Err(FormatError::content(why));
    }
    if row.shape != wanted.shape {
        let why = format!("tensor {name} is {:?}, this model needs {:?}", row.shape, wanted.shape);
        return Err(FormatError::content(why));
    }
    Ok(())
}
