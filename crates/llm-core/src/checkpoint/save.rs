//! Writing: everything is checked before a file is touched, then streamed into a replacement.

use super::files::{Disk, Files};
use super::fixed::{self, FIXED};
use super::header::Header;
use super::limits::{MAX_HEADER, at_most};
use super::load::check_values;
use super::replace::replace;
use super::table::{self, Entry, Role};
use super::{CheckpointError, Meta, TokenizerSpec, check};
use crate::error::{Error, Result};
use crate::optim::Moments;
use crate::tensor::Tensor;
use crate::train::Trainer;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

/// Saves the run into the file at `path`: afterwards there is the complete new checkpoint, or,
/// when this fails, whatever was there before.
///
/// The bytes are a function of weights, moments, step, recipe and tokenizer. A symbolic link stays
/// one, and a file that is replaced leaves its permissions to the new one. Nobody else may write
/// to `path` meanwhile; locking is the caller's business.
///
/// # Errors
/// [`Error::Checkpoint`] when the run cannot be stored: a weight is not finite, the optimizer's
/// state belongs to another model; [`Error::Io`] when writing fails.
pub fn save(
    path: &Path,
    trainer: &Trainer,
    tokenizer: &TokenizerSpec,
    with_optimizer: bool,
) -> Result<()> {
    save_on(&Disk, path, trainer, tokenizer, with_optimizer)
}

/// [`save`] on any file system.
pub(super) fn save_on<F: Files>(
    files: &F,
    path: &Path,
    trainer: &Trainer,
    tokenizer: &TokenizerSpec,
    with_optimizer: bool,
) -> Result<()> {
    let prepared = Prepared::new(trainer, tokenizer, with_optimizer)
        .map_err(|source| Error::Checkpoint { path: path.into(), source })?;
    replace(files, path, |out| prepared.write(out)).map_err(|source| Error::Io {
        action: "save",
        path: path.into(),
        source,
    })
}

/// The elements of one tensor, borrowed.
enum Data<'a> {
    Floats(&'a [f32]),
    Bytes(&'a [u8]),
}

impl Data<'_> {
    /// The bytes in the file, piece by piece: the tensor is never copied as a whole.
    fn for_each_piece(&self, mut f: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        match self {
            Data::Bytes(bytes) => f(bytes),
            Data::Floats(values) => {
                let mut piece = [0u8; 1 << 14];
                for values in values.chunks(piece.len() / 4) {
                    let bytes = &mut piece[..4 * values.len()];
                    for (out, x) in bytes.as_chunks_mut().0.iter_mut().zip(values) {
                        *out = x.to_le_bytes();
                    }
                    f(bytes)?;
                }
                Ok(())
            }
        }
    }

    fn crc32(&self) -> u32 {
        let mut crc = crc32fast::Hasher::new();
        let fed = self.for_each_piece(|bytes| {
            crc.update(bytes);
            Ok(())
        });
        debug_assert!(fed.is_ok(), "feeding a checksum cannot fail");
        crc.finalize()
    }
}

/// A checkpoint that only needs to be written down.
pub(super) struct Prepared<'a> {
    start: [u8; FIXED as usize],
    header: Vec<u8>,
    /// In the order of the file.
    tensors: Vec<Data<'a>>,
}

impl<'a> Prepared<'a> {
    pub(super) fn new(
        trainer: &'a Trainer,
        tokenizer: &'a TokenizerSpec,
        with_optimizer: bool,
    ) -> Result<Prepared<'a>, CheckpointError> {
        let optimizer = with_optimizer.then_some(&trainer.optimizer);
        let mut meta = Meta {
            config: trainer.model.config().clone(),
            attention: trainer.model.attention().spec(),
            tokenizer: tokenizer.clone(),
            recipe: trainer.recipe.clone(),
            step: trainer.step,
        };
        // The optimizer's own settings decide the next step, should somebody have changed the
        // recipe's copy of them.
        meta.recipe.adamw = *trainer.optimizer.config();
        super::limits::check_config(&meta.config)?;
        let moments = optimizer.map_or(&[][..], |o| o.moments());
        let blob = tokenizer.blob.len() as u64;
        let mut table = table::expected(&meta.config, !moments.is_empty(), blob);
        let tensors = gather(&mut table, trainer, tokenizer, moments)?;
        let header = Header::new(&meta, optimizer, table)?;
        check::check(&header)?;
        let body = table::body_length(&header.tensors);
        let header = postcard::to_stdvec(&header).map_err(CheckpointError::HeaderEncoding)?;
        at_most("the length of the header", header.len() as u64, MAX_HEADER)?;
        Ok(Prepared { start: fixed::write(&header, body), header, tensors })
    }

    /// All bytes of the file.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut hash = blake3::Hasher::new();
        let mut put = |bytes: &[u8]| {
            hash.update(bytes);
            out.write_all(bytes)
        };
        let zeros = [0; table::ALIGN as usize];
        put(&self.start)?;
        put(&self.header)?;
        let length = FIXED + self.header.len() as u64;
        put(&zeros[..(table::padded(length) - length) as usize])?;
        for data in &self.tensors {
            let mut length = 0;
            data.for_each_piece(|bytes| {
                length += bytes.len() as u64;
                put(bytes)
            })?;
            put(&zeros[..(table::padded(length) - length) as usize])?;
        }
        out.write_all(hash.finalize().as_bytes())
    }
}

/// Finds the data of each row of the table, checks them and fills in their checksums.
fn gather<'a>(
    table: &mut [Entry],
    trainer: &'a Trainer,
    tokenizer: &'a TokenizerSpec,
    moments: &'a [Moments],
) -> Result<Vec<Data<'a>>, CheckpointError> {
    let weights: BTreeMap<String, &Tensor> = trainer.model.parameters().collect();
    let moments: BTreeMap<&str, &Moments> =
        moments.iter().map(|moments| (moments.name.as_str(), moments)).collect();
    // The model's fields and the moments are open to the caller, so they may not fit the settings.
    let expected = table.iter().filter(|e| e.role == Role::Weight).count();
    for actual in [weights.len(), moments.len()] {
        if actual != expected && actual > 0 {
            return Err(CheckpointError::TensorCount { actual, expected });
        }
    }
    let mut tensors = Vec::with_capacity(table.len());
    for entry in table {
        let moments = moments.get(entry.name.as_str());
        let (data, dims) = match (entry.role, weights.get(&entry.name), moments) {
            (Role::Blob, ..) => (Data::Bytes(&tokenizer.blob), vec![tokenizer.blob.len()]),
            (Role::Weight, Some(p), _) => (Data::Floats(p.data()), p.shape().to_vec()),
            // Moments are flat; the shape they stand for is their parameter's.
            (Role::M, Some(p), Some(Moments { m, .. })) if m.len() == p.numel() => {
                (Data::Floats(m), p.shape().to_vec())
            }
            (Role::V, Some(p), Some(Moments { v, .. })) if v.len() == p.numel() => {
                (Data::Floats(v), p.shape().to_vec())
            }
            _ => (Data::Bytes(&[]), Vec::new()),
        };
        if !dims.iter().map(|&d| d as u64).eq(entry.dims.iter().copied()) {
            return Err(CheckpointError::Tensor {
                tensor: entry.label(),
                field: "shape",
                found: format!("{dims:?}"),
                expected: format!("{:?}", entry.dims),
            });
        }
        if let Data::Floats(values) = data {
            check_values(entry, values)?;
        }
        entry.crc32 = data.crc32();
        tensors.push(data);
    }
    Ok(tensors)
}
