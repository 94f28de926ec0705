//! Writing: streamed into a replacement of the file, some rows a time.

use super::file::{ALIGNMENT, MAGIC};
use super::quantise::{Stored, quantise};
use super::value::{Entry, write_text};
use crate::safetensors::{Fill, pieces};
use llm_core::base::replace_file;
use llm_core::message;
use std::io::{self, Write};
use std::path::Path;

/// The version of the format.
const VERSION: u32 = 3;
/// A tensor to be written.
pub(super) struct Outgoing<'a> {
    pub(super) name: String,
    /// Lengths of the axes, row-major.
    pub(super) shape: Vec<usize>,
    pub(super) stored: Stored,
    pub(super) fill: Fill<'a>,
}

impl Outgoing<'_> {
    fn width(&self) -> usize {
        self.shape.last().copied().unwrap_or(1)
    }

    fn rows(&self) -> usize {
        self.shape.iter().product::<usize>() / self.width()
    }

    /// Bytes in the file.
    fn length(&self) -> u64 {
        let kind = self.stored.kind();
        (self.rows() * self.width() / kind.numbers() * kind.bytes()) as u64
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let (width, rows) = (self.width(), self.rows());
        let (mut numbers, mut bytes) = (Vec::new(), Vec::new());
        for (first, count) in pieces(rows, width) {
            numbers.resize(count * width, 0.0);
            (self.fill)(first, &mut numbers);
            bytes.clear();
            quantise(self.stored, &numbers, &mut bytes).map_err(|x| {
                let (name, kind) = (&self.name, self.stored.kind().name());
                io::Error::other(message!("{} cannot hold {:e} of tensor {}", kind, x, name))
            })?;
            out.write_all(&bytes)?;
        }
        padding(self.length(), out)
    }
}

fn padding(length: u64, out: &mut dyn Write) -> io::Result<()> {
    let missing = length.next_multiple_of(ALIGNMENT) - length;
    out.write_all(&[0; ALIGNMENT as usize][..missing as usize])
}

/// Writes a file with these entries and tensors, in this order; `path` then holds all of it, or, when
/// this fails, what was there before. Equal contents give equal bytes.
///
/// # Errors
/// What the system says, or that a number does not fit its type.
pub(super) fn write(path: &Path, metadata: &[Entry], tensors: &[Outgoing<'_>]) -> io::Result<()> {
    let mut head = MAGIC.to_vec();
    head.extend(VERSION.to_le_bytes());
    head.extend((tensors.len() as u64).to_le_bytes());
    head.extend((metadata.len() as u64).to_le_bytes());
    for (key, value) in metadata {
        write_text(key, &mut head);
        value.write(&mut head);
    }
    let mut offset = 0u64;
    for tensor in tensors {
        write_text(&tensor.name, &mut head);
        head.extend((tensor.shape.len() as u32).to_le_bytes());
        tensor.shape.iter().rev().for_each(|n| head.extend((*n as u64).to_le_bytes()));
        head.extend(tensor.stored.kind().id().to_le_bytes());
        head.extend(offset.to_le_bytes());
        offset += tensor.length().next_multiple_of(ALIGNMENT);
    }
    replace_file(path, |out| {
        out.write_all(&head)?;
        padding(head.len() as u64, out)?;
        tensors.iter().try_for_each(|tensor| tensor.write(out))
    })
}
