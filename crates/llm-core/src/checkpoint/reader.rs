//! Reading tensors: every byte is hashed as it passes.

use super::limits::unless;
use super::table::{self, Entry};
use crate::base::large_pages::room;
use crate::base::{CheckpointError, Error, IoAction, Message, memory};
use crate::message;
use std::io::{self, Read};
use std::path::Path;

/// Tensors pass through a buffer of this many bytes, a multiple of four.
pub(super) const CHUNK: usize = 1 << 16;

/// Why a file could not be read, before its path is added.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Content(#[from] CheckpointError),
    #[error(transparent)]
    Memory(Error),
}

impl Failure {
    /// The error about the file at `path`.
    pub(super) fn at(self, path: &Path) -> Error {
        match self {
            Failure::Io(source) => Error::io(IoAction::Read, path, source),
            Failure::Content(source) => Error::Checkpoint { path: path.into(), source },
            Failure::Memory(error) => error,
        }
    }
}

/// A reader that hashes what passes.
pub(super) struct Hashing<R> {
    input: R,
    pub(super) hash: blake3::Hasher,
    chunk: Vec<u8>,
}

impl<R: Read> Hashing<R> {
    pub(super) fn new(input: R) -> Hashing<R> {
        Hashing { input, hash: blake3::Hasher::new(), chunk: Vec::new() }
    }

    pub(super) fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.input.read_exact(bytes)?;
        self.hash.update(bytes);
        Ok(())
    }

    /// One tensor and its padding. Memory is reserved for the length that the settings ask for,
    /// and touched only as data arrive.
    pub(super) fn tensor<T>(
        &mut self,
        entry: &Entry,
        mut add: impl FnMut(&[u8], &mut Vec<T>),
    ) -> Result<Vec<T>, Failure> {
        let memory = |_| Failure::Memory(memory::refused(entry.length));
        let count = usize::try_from(entry.length).map_or(usize::MAX, |n| n / size_of::<T>());
        let mut out = room(count).map_err(memory)?;
        let mut chunk = std::mem::take(&mut self.chunk);
        chunk.resize(CHUNK, 0);
        let mut crc = crc32fast::Hasher::new();
        let mut left = entry.length;
        while left > 0 {
            let bytes = &mut chunk[..left.min(CHUNK as u64) as usize];
            self.read_exact(bytes)?;
            crc.update(bytes);
            add(bytes, &mut out);
            left -= bytes.len() as u64;
        }
        self.chunk = chunk;
        let tensor = entry.label();
        let after = message!("tensor {}", tensor);
        unless(crc.finalize() == entry.crc32, CheckpointError::TensorChecksum { tensor })?;
        self.skip_zeros(entry.length, after)?;
        Ok(out)
    }

    /// The zeros that fill up `length` bytes to the next multiple of 64.
    pub(super) fn skip_zeros(&mut self, length: u64, after: Message) -> Result<(), Failure> {
        let mut zeros = [0; table::ALIGN as usize];
        let zeros = &mut zeros[..(table::padded(length) - length) as usize];
        self.read_exact(zeros)?;
        Ok(unless(zeros.iter().all(|&b| b == 0), CheckpointError::Padding { after })?)
    }
}
