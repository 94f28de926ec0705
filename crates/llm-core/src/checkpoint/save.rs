//! Writing: everything is checked before a file is touched, then streamed into a replacement.

use super::adapter::SavedAdapter;
use super::check::check;
use super::contents::{ACCUMULATION, ARCHITECTURE, Contents, PRECISION};
use super::contents::{SavedOptimizer, TokenizerHash};
use super::fixed::{self, FIXED, FORMAT_VERSION, HASH};
use super::header;
use super::limits::{Checked, MAX_HEADER, at_most, check_config, unless};
use super::load::check_values;
use super::meta::TokenizerSpec;
use super::state::Snapshot;
use super::table::{self, BLOB, WEIGHT};
use crate::base::file_calls::{Disk, Files};
use crate::base::replace::replace;
use crate::base::{CheckpointError, Error, IoAction, Result, memory};
use crate::buffer::Buffer;
use crate::message;
use crate::model::TinyGPT;
use crate::tensor::Tensor;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Saves the run into the file at `path`: afterwards there is the complete new checkpoint, or,
/// when this fails, whatever was there before.
///
/// The bytes are a function of weights, optimizer state, step, recipe and tokenizer. A symbolic link stays
/// one, and a file that is replaced leaves its permissions to the new one. No other process may
/// write to `path` meanwhile; locking is the caller's business.
///
/// # Errors
/// [`Error::Checkpoint`] when the run cannot be stored: a weight is not finite, the optimizer's
/// state belongs to another model; [`Error::Io`] when writing fails.
pub fn save<'a>(
    path: &Path,
    run: impl Into<Snapshot<'a>>,
    tokenizer: &TokenizerSpec,
    with_optimizer: bool,
) -> Result<()> {
    save_on(&Disk, path, run.into(), tokenizer, with_optimizer)
}

/// The bytes that [`save`] writes.
///
/// # Errors
/// [`Error::Checkpoint`] as there, about a file of no name; [`Error::Memory`] when there is no room
/// for them.
pub fn to_bytes<'a>(
    run: impl Into<Snapshot<'a>>,
    tokenizer: &TokenizerSpec,
    with_optimizer: bool,
) -> Result<Vec<u8>> {
    let prepared = Prepared::new(Path::new(""), run.into(), tokenizer, with_optimizer)
        .map_err(|source| Error::Checkpoint { path: PathBuf::new(), source })?;
    let mut file = Vec::new();
    let length = usize::try_from(prepared.length).unwrap_or(usize::MAX);
    file.try_reserve_exact(length).map_err(|_| memory::refused(prepared.length))?;
    prepared.write(&mut file).map_err(|e| Error::io(IoAction::Save, "", e))?;
    Ok(file)
}

/// Refuses a run whose settings no checkpoint can hold, at this step or at a later one: [`save`]
/// would refuse it too, after the work. Values of weights are not checked.
///
/// # Errors
/// [`Error::Checkpoint`] as there, about a file of no name.
pub fn check_savable<'a>(run: impl Into<Snapshot<'a>>, tokenizer: &TokenizerSpec) -> Result<()> {
    let run = run.into();
    let check_all = || {
        // With everything that the optimizer keeps from its first update on.
        let slots = run.optimizer.slots().iter().map(|slot| slot.name.into()).collect();
        let contents = contents(Path::new(""), run, tokenizer, Some(slots))?;
        check(&contents)?;
        encode(&contents).map(drop)
    };
    check_all().map_err(|source| Error::Checkpoint { path: PathBuf::new(), source })
}

/// [`save`] on any file system.
pub(super) fn save_on<F: Files>(
    files: &F,
    path: &Path,
    run: Snapshot<'_>,
    tokenizer: &TokenizerSpec,
    with_optimizer: bool,
) -> Result<()> {
    let prepared = Prepared::new(path, run, tokenizer, with_optimizer)
        .map_err(|source| Error::Checkpoint { path: path.into(), source })?;
    replace(files, path, |out| prepared.write(out)).map_err(|e| Error::io(IoAction::Save, path, e))
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
        self.feed(&mut crc);
        crc.finalize()
    }

    fn feed(&self, crc: &mut crc32fast::Hasher) {
        let fed = self.for_each_piece(|bytes| {
            crc.update(bytes);
            Ok(())
        });
        debug_assert!(fed.is_ok(), "feeding a checksum cannot fail");
    }
}

/// CRC32 of all weights that learn, in the model's order, and of the hash of those that are frozen: to
/// compare the weights of two processes.
pub fn weights_checksum(model: &TinyGPT) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    for (_, parameter) in model.trained() {
        Data::Floats(parameter.data()).feed(&mut crc);
    }
    if let Some((blake3, _)) = model.base() {
        crc.update(blake3);
    }
    crc.finalize()
}

/// A checkpoint that only needs to be written down.
pub(super) struct Prepared<'a> {
    start: [u8; FIXED as usize],
    header: Vec<u8>,
    /// In the order of the file.
    tensors: Vec<Data<'a>>,
    /// Bytes of the file.
    length: u64,
}

impl<'a> Prepared<'a> {
    /// The file will be at `at`.
    pub(super) fn new(
        at: &Path,
        run: Snapshot<'a>,
        tokenizer: &'a TokenizerSpec,
        with_optimizer: bool,
    ) -> Checked<Prepared<'a>> {
        let is_fresh = run.optimizer.state().parameters.is_empty();
        let kept = if is_fresh { &[] } else { run.optimizer.slots() };
        let slots = with_optimizer.then(|| kept.iter().map(|slot| slot.name.into()).collect());
        let mut contents = contents(at, run, tokenizer, slots)?;
        let tensors = gather(&mut contents, run, tokenizer)?;
        check(&contents)?;
        let header = encode(&contents)?;
        let body = table::body_length(&contents.table);
        let length = table::padded(FIXED + header.len() as u64) + body + HASH;
        let start = fixed::write(FORMAT_VERSION, &header, body);
        Ok(Prepared { start, header, tensors, length })
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

/// The header's bytes.
fn encode(contents: &Contents) -> Checked<Vec<u8>> {
    let header = header::encode(contents)?;
    at_most(message!("the length of the header"), header.len() as u64, MAX_HEADER)?;
    Ok(header)
}

/// What the header will say, but for the checksums of the table. `slots` are the names of what is
/// saved of the optimizer; none: it is not saved.
fn contents(
    at: &Path,
    run: Snapshot<'_>,
    tokenizer: &TokenizerSpec,
    slots: Option<Vec<String>>,
) -> Checked<Contents> {
    // The optimizer's own name and numbers decide the next step, should a caller have changed the
    // recipe's copy of them.
    let mut recipe = run.recipe.clone();
    recipe.optimizer = run.optimizer.name().into();
    recipe.hyperparameters = *run.optimizer.config();
    recipe.optimizer_settings = run.optimizer.settings();
    let (name, t) = (recipe.optimizer.clone(), run.optimizer.state().t);
    let mut contents = Contents {
        architecture: ARCHITECTURE.into(),
        config: run.model.config().clone(),
        attention: run.model.attention().spec(),
        own: run.model.attention().parameters(run.model.config()),
        adapter: SavedAdapter::of(run.model, at)?,
        tokenizer: TokenizerHash {
            kind: tokenizer.kind.clone(),
            length: tokenizer.blob.len() as u64,
            blake3: blake3::hash(&tokenizer.blob).into(),
        },
        optimizer: slots.map(|slots| SavedOptimizer { name, t, slots }),
        recipe,
        step: run.step,
        precision: PRECISION.into(),
        accumulation: ACCUMULATION.into(),
        table: Vec::new(),
        optimizers: std::slice::from_ref(run.optimizer.row()),
    };
    check_config(&contents.config, &contents.own)?;
    let blob = contents.tokenizer.length;
    contents.table = table::expected(contents.parameters()?, contents.slots(), blob);
    Ok(contents)
}

/// Finds the data of each row of the table, checks them and fills in their checksums.
fn gather<'a>(
    contents: &mut Contents,
    run: Snapshot<'a>,
    tokenizer: &'a TokenizerSpec,
) -> Checked<Vec<Data<'a>>> {
    let weights: BTreeMap<String, &Tensor> = run.model.trained().collect();
    let slots = contents.slots().to_vec();
    let states = if slots.is_empty() { &[][..] } else { &run.optimizer.state().parameters };
    let states: BTreeMap<&str, &[Buffer]> =
        states.iter().map(|of| (of.name.as_str(), &of.slots[..])).collect();
    // The model's fields and the optimizer's state are open to the caller, so they may not fit the
    // settings.
    let mut table = std::mem::take(&mut contents.table);
    let expected = table.iter().filter(|e| e.role == WEIGHT).count();
    for actual in [weights.len(), states.len()] {
        let fits = actual == expected || actual == 0;
        unless(fits, CheckpointError::TensorCount { actual, expected })?;
    }
    let mut tensors = Vec::with_capacity(table.len());
    for entry in &mut table {
        let weight = weights.get(&entry.name);
        let slot = |p: &&Tensor| {
            // What an optimizer keeps is flat; the shape it stands for is its parameter's.
            let kept = states.get(entry.name.as_str()).filter(|kept| kept.len() == slots.len())?;
            let at = slots.iter().position(|slot| *slot == entry.role)?;
            kept.get(at).filter(|slot| slot.len() == p.numel())
        };
        let found = match (entry.role.as_str(), weight) {
            (BLOB, _) => Some((Data::Bytes(&tokenizer.blob), vec![tokenizer.blob.len()])),
            (WEIGHT, Some(p)) => Some((Data::Floats(p.data()), p.shape().to_vec())),
            (_, Some(p)) => slot(p).map(|slot| (Data::Floats(slot), p.shape().to_vec())),
            _ => None,
        };
        let (data, dims) = found.unwrap_or((Data::Bytes(&[]), Vec::new()));
        if !dims.iter().map(|&d| d as u64).eq(entry.dims.iter().copied()) {
            return Err(CheckpointError::Tensor {
                tensor: entry.label(),
                field: "shape",
                found: format!("{dims:?}"),
                expected: format!("{:?}", entry.dims),
            });
        }
        if let Data::Floats(values) = data {
            check_values(contents, entry, values)?;
        }
        entry.crc32 = data.crc32();
        tensors.push(data);
    }
    contents.table = table;
    Ok(tensors)
}
