//! Reading: limits before allocations, the expected table before the tensors, hashes before values.

use super::fixed::{FIXED, Fixed, HASH};
use super::header::Header;
use super::table::{self, Entry, Role};
use super::{Checkpoint, CheckpointError, Meta, Optimizer, TokenizerSpec, check};
use crate::error::{Error, Result};
use crate::model::parameter_shapes;
use crate::optim::Moments;
use crate::tensor::Tensor;
use crate::util::large_pages::room;
use crate::util::memory;
use ndarray::{ArrayD, IxDyn};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;

/// Tensors pass through a buffer of this many bytes, a multiple of four.
const CHUNK: usize = 1 << 16;

/// Why a file could not be read, before its path is added.
#[derive(Debug)]
pub(super) enum Failure {
    Io(io::Error),
    Content(CheckpointError),
    Memory(Error),
}

impl Failure {
    /// The error about the file at `path`.
    pub(super) fn at(self, path: &Path) -> Error {
        match self {
            Failure::Io(source) => Error::Io { action: "read", path: path.into(), source },
            Failure::Content(source) => Error::Checkpoint { path: path.into(), source },
            Failure::Memory(error) => error,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Io(error)
    }
}

impl From<CheckpointError> for Failure {
    fn from(error: CheckpointError) -> Failure {
        Failure::Content(error)
    }
}

/// Reads and checks a whole file.
pub(super) fn load(path: &Path) -> Result<Checkpoint> {
    let read = || {
        let (file, length) = open(path)?;
        parse(BufReader::with_capacity(CHUNK, file), length)
    };
    let mut checkpoint = read().map_err(|failure| failure.at(path))?;
    checkpoint.path = path.into();
    Ok(checkpoint)
}

/// Opens a regular file and asks for its length. Asked before opening too: opening a pipe waits
/// for a writer.
fn open(path: &Path) -> io::Result<(File, u64)> {
    let regular = |metadata: fs::Metadata| match metadata {
        m if m.is_file() => Ok(m.len()),
        m if m.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
    };
    regular(fs::metadata(path)?)?;
    let file = File::open(path)?;
    let length = regular(file.metadata()?)?;
    Ok((file, length))
}

/// Reads a checkpoint of `length` bytes from `input`.
pub(super) fn parse(input: impl Read, length: u64) -> Result<Checkpoint, Failure> {
    let mut input = Hashing { input, hash: blake3::Hasher::new(), chunk: Vec::new() };
    let mut start = [0; FIXED as usize];
    let present = &mut start[..length.min(FIXED) as usize];
    input.read_exact(present)?;
    let fixed = Fixed::parse(present, length)?;

    let mut bytes = vec![0; fixed.header_length as usize]; // at most 1 MiB
    input.read_exact(&mut bytes)?;
    fixed.check(&bytes)?;
    let header = decode(&bytes)?;
    check::check(&header)?;
    let data_start = table::padded(FIXED + fixed.header_length);
    let body = table::body_length(&header.tensors);
    let expected = data_start.saturating_add(body).saturating_add(HASH);
    if expected != length {
        return Err(CheckpointError::Length { actual: length, expected }.into());
    }
    memory::require(body).map_err(Failure::Memory)?;

    input.skip_zeros(FIXED + fixed.header_length, || "the header".into())?;
    let mut floats = BTreeMap::new();
    let mut blob = Vec::new();
    for entry in &header.tensors {
        match entry.role {
            Role::Blob => blob = input.tensor(entry, |bytes, out| out.extend_from_slice(bytes))?,
            Role::Weight | Role::M | Role::V => {
                let values = input.tensor(entry, |bytes, out| {
                    out.extend(bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)));
                })?;
                floats.insert((entry.name.clone(), entry.role), values);
            }
        }
    }
    let found = input.hash.finalize();
    let mut stored = [0; HASH as usize];
    input.read_exact(&mut stored)?;
    if found != stored {
        return Err(CheckpointError::FileChecksum.into());
    }
    if blake3::hash(&blob) != header.tokenizer_blake3 {
        return Err(CheckpointError::TokenizerHash.into());
    }
    for entry in &header.tensors {
        if let Some(values) = floats.get(&(entry.name.clone(), entry.role)) {
            check_values(entry, values)?;
        }
    }
    Ok(assemble(&header, floats, blob)?)
}

/// The header's bytes as a header, with nothing left over.
fn decode(bytes: &[u8]) -> Result<Header, CheckpointError> {
    let (header, rest) =
        postcard::take_from_bytes(bytes).map_err(CheckpointError::HeaderEncoding)?;
    if rest.is_empty() {
        Ok(header)
    } else {
        Err(CheckpointError::HeaderRest { extra: rest.len() })
    }
}

/// Finite, and no mean of squares below 0: it would become NaN under the optimizer's root.
pub(super) fn check_values(entry: &Entry, values: &[f32]) -> Result<(), CheckpointError> {
    if !values.iter().all(|x| x.is_finite()) {
        return Err(CheckpointError::NotFinite { tensor: entry.label() });
    }
    if entry.role == Role::V && values.iter().any(|&x| x < 0.0) {
        return Err(CheckpointError::Negative { tensor: entry.label() });
    }
    Ok(())
}

/// Puts the tensors, sorted by name in the file, into the model's order.
fn assemble(
    header: &Header,
    mut floats: BTreeMap<(String, Role), Vec<f32>>,
    blob: Vec<u8>,
) -> Result<Checkpoint, CheckpointError> {
    let config = header.config();
    let mut take = |name: &str, role| floats.remove(&(name.into(), role)).unwrap_or_default();
    let mut parameters = Vec::new();
    let mut moments = Vec::new();
    for (name, dims) in parameter_shapes(&config) {
        let values = ArrayD::from_shape_vec(IxDyn(&dims), take(&name, Role::Weight))
            .map_err(|e| CheckpointError::Setting { field: "shape", reason: e.to_string() })?;
        parameters.push((name.clone(), Tensor::parameter(values)));
        if header.moments {
            let (m, v) = (take(&name, Role::M).into(), take(&name, Role::V).into());
            moments.push(Moments { name, m, v });
        }
    }
    Ok(Checkpoint {
        meta: Meta {
            config,
            attention: header.attention(),
            tokenizer: TokenizerSpec { kind: header.tokenizer.clone(), blob },
            recipe: header.recipe(),
            step: header.step,
        },
        parameters,
        optimizer: header.adam_t.map(|t| Optimizer { t, moments }),
        path: Default::default(),
    })
}

/// A reader that hashes what passes.
struct Hashing<R> {
    input: R,
    hash: blake3::Hasher,
    chunk: Vec<u8>,
}

impl<R: Read> Hashing<R> {
    fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.input.read_exact(bytes)?;
        self.hash.update(bytes);
        Ok(())
    }

    /// One tensor and its padding. Memory is reserved for the length that the settings ask for,
    /// and touched only as data arrive.
    fn tensor<T>(
        &mut self,
        entry: &Entry,
        mut add: impl FnMut(&[u8], &mut Vec<T>),
    ) -> Result<Vec<T>, Failure> {
        let memory = |_| {
            let (needed, available) = (entry.length, memory::available());
            Failure::Memory(Error::Memory { needed, available })
        };
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
        if crc.finalize() != entry.crc32 {
            return Err(CheckpointError::TensorChecksum { tensor: entry.label() }.into());
        }
        self.skip_zeros(entry.length, || format!("tensor {}", entry.label()))?;
        Ok(out)
    }

    /// The zeros that fill up `length` bytes to the next multiple of 64.
    fn skip_zeros(&mut self, length: u64, after: impl FnOnce() -> String) -> Result<(), Failure> {
        let mut zeros = [0; table::ALIGN as usize];
        let zeros = &mut zeros[..(table::padded(length) - length) as usize];
        self.read_exact(zeros)?;
        if zeros.iter().any(|&b| b != 0) {
            return Err(CheckpointError::Padding { after: after() }.into());
        }
        Ok(())
    }
}
