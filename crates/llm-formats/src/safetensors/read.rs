//! Reading: everything that the header says is checked before memory is taken for a tensor.

use super::Dtype;
use super::header::{self, MAX_HEADER, Row};
use crate::error::{FormatError, Result, refuse, shown, too_short};
use crate::files::numbers;
use crate::wanted::{Wanted, finite, places};
use half::{bf16, f16};
use llm_core::base::memory;
use llm_core::buffer::Preview;
use llm_core::message;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::io::{self, Read};

/// A file whose header has been read, or several whose tensors together are one model's.
#[derive(Debug)]
pub struct Contents<R> {
    inputs: Vec<R>,
    /// All tensors, in the order of their bytes, file by file.
    pub rows: Vec<Row>,
    /// Texts of the header by their keys.
    pub metadata: BTreeMap<String, String>,
}

/// The types in which numbers may be stored: every value of each is one of f32.
pub const STORED_AS: [Dtype; 3] = [Dtype::F32, Dtype::F16, Dtype::BF16];

/// The elements of a tensor, row-major.
pub enum Values {
    /// Numbers of a parameter, all finite.
    Floats(Vec<f32>),
    /// Bytes of anything else.
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
    /// [`FormatError::Content`] when it is not within our limits and the format's rules.
    pub fn open(mut input: R, length: u64) -> Result<Contents<R>> {
        let mut start = [0; 8];
        let Some(rest) = length.checked_sub(start.len() as u64) else {
            let why = message!("the file is {} bytes, too short for a safetensors file", length);
            return refuse(why);
        };
        input.read_exact(&mut start)?;
        let header = u64::from_le_bytes(start);
        let Some(body) = rest.checked_sub(header) else {
            return refuse(message!(
                "it is no safetensors file, or cut: its header would have {} bytes, the file \
                 has {}",
                header,
                length
            ));
        };
        if header > MAX_HEADER {
            return refuse(message!("its header is {} bytes, the limit is {}", header, MAX_HEADER));
        }
        let mut bytes = vec![0; header as usize];
        input.read_exact(&mut bytes)?;
        let (rows, metadata) = header::parse(&bytes, body)?;
        Ok(Contents { inputs: vec![input], rows, metadata })
    }

    /// Adds the tensors of a further file.
    ///
    /// # Errors
    /// [`FormatError::Content`] when one of its names is there already.
    pub fn and(mut self, more: Contents<R>) -> Result<Contents<R>> {
        let names: HashSet<&str> = self.rows.iter().map(|row| row.name.as_str()).collect();
        if let Some(row) = more.rows.iter().find(|row| names.contains(row.name.as_str())) {
            return refuse(message!("tensor {} is in another file too", shown(&row.name)));
        }
        let before = self.inputs.len();
        let later = |row: Row| Row { file: before + row.file, ..row };
        self.rows.extend(more.rows.into_iter().map(later));
        self.inputs.extend(more.inputs);
        Ok(self)
    }

    /// Takes off what a wrapper of the model put before all names: `torch.compile`'s, and
    /// `DataParallel`'s.
    #[must_use]
    pub fn unwrapped(mut self) -> Contents<R> {
        let has =
            |rows: &[Row], wrapper: &str| rows.iter().all(|row| row.name.starts_with(wrapper));
        while !self.rows.is_empty()
            && let Some(wrapper) =
                ["_orig_mod.", "module."].into_iter().find(|w| has(&self.rows, w))
        {
            self.rows.iter_mut().for_each(|row| drop(row.name.drain(..wrapper.len())));
        }
        self
    }

    /// Gives a tensor another name, if it is there.
    pub fn rename(&mut self, from: &str, to: String) {
        if let Some(row) = self.rows.iter_mut().find(|row| row.name == from) {
            row.name = to;
        }
    }

    /// The tensor of that name.
    pub fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// Reads the tensors that are `wanted`, and hands each with its number in that list to
    /// `take`, in the order of the file. All others must be `ignored`. What is stored with 16 bits
    /// becomes f32, as the same number.
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
        let rows = std::mem::take(&mut self.rows);
        let found = rows.iter().map(|row| (row.name.as_str(), &row.shape[..]));
        let places = places(wanted, found, ignored)?;
        let mut total = 0u64;
        for (row, place) in rows.iter().zip(&places) {
            let Some(i) = place else { continue };
            check(row, wanted[*i].dtype)?;
            let wide = (wanted[*i].dtype.bitsize() / row.dtype.bitsize()) as u64;
            total = total.saturating_add(row.length.saturating_mul(wide));
        }
        memory::require(total)?;
        for (row, place) in rows.iter().zip(places) {
            let Some(i) = place else {
                let input = &mut self.inputs[row.file];
                let skipped = io::copy(&mut input.take(row.length), &mut io::sink())?;
                if skipped < row.length {
                    return Err(too_short());
                }
                continue;
            };
            let input = &mut self.inputs[row.file];
            let count = |bytes: u64| usize::try_from(row.length / bytes).unwrap_or(usize::MAX);
            let values = match row.dtype {
                Dtype::U8 => Values::Bytes(numbers(input, count(1), u8::from_le_bytes)?),
                Dtype::F16 => {
                    Values::Floats(numbers(input, count(2), |b| f16::from_le_bytes(b).to_f32())?)
                }
                Dtype::BF16 => {
                    Values::Floats(numbers(input, count(2), |b| bf16::from_le_bytes(b).to_f32())?)
                }
                _ => Values::Floats(numbers(input, count(4), f32::from_le_bytes)?),
            };
            if let Values::Floats(values) = &values {
                finite(&row.name, values)?;
            }
            take(i, values)?;
        }
        Ok(())
    }
}

/// Refuses a tensor of another type than it must have.
fn check(row: &Row, wanted: Dtype) -> Result<()> {
    if row.dtype == wanted || wanted == Dtype::F32 && STORED_AS.contains(&row.dtype) {
        return Ok(());
    }
    let (name, found) = (shown(&row.name), row.dtype.to_string());
    Err(FormatError::content(match (wanted, row.dtype) {
        (Dtype::F32, Dtype::F64) => message!(
            "tensor {} is {}, only F32, F16 and BF16 are read; convert the model in Python: \
             model.float().save_pretrained(..)",
            name,
            found
        ),
        (Dtype::F32, _) => {
            message!("tensor {} is {}, only F32, F16 and BF16 are read", name, found)
        }
        _ => message!("tensor {} is {}, only U8 is read", name, found),
    }))
}
