//! Reading: limits before allocations, the expected table before the tensors, hashes before values.

use super::adapter::hex;
use super::check::check;
use super::contents::Contents;
use super::fixed::{FIXED, Fixed, HASH};
use super::header;
use super::limits::{Checked, unless};
use super::meta::{Meta, TokenizerSpec};
use super::opened::Checkpoint;
use super::reader::{CHUNK, Failure, Hashing};
use super::table::{self, BLOB, Entry, WEIGHT};
use crate::base::memory;
use crate::base::{CheckpointError, Result, open_regular, with_causes};
use crate::message;
use crate::model::weights_blake3;
use crate::optim::{OPTIMIZERS, OptimizerRow, OptimizerState, ParameterState};
use crate::tensor::Tensor;
use crate::tensor::halves::Halves;
use std::collections::BTreeMap;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

impl Checkpoint {
    /// Reads the file at `path`, all of it, and checks all of it.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be read, [`Error::Checkpoint`] when its content is not a
    /// checkpoint that this program can use, [`Error::Memory`] when it does not fit into memory.
    ///
    /// [`Error::Io`]: crate::Error::Io
    /// [`Error::Checkpoint`]: crate::Error::Checkpoint
    /// [`Error::Memory`]: crate::Error::Memory
    pub fn load(path: &Path) -> Result<Checkpoint> {
        Checkpoint::load_with(path, OPTIMIZERS)
    }

    /// [`load`](Checkpoint::load) of a run with one of these optimizers.
    ///
    /// # Errors
    /// As [`load`](Checkpoint::load).
    pub fn load_with(path: &Path, optimizers: &'static [OptimizerRow]) -> Result<Checkpoint> {
        Checkpoint::load_on(path, None, optimizers)
    }

    /// [`load_with`](Checkpoint::load_with) of an adapter whose base is in the file `base`, in place of the
    /// one that the checkpoint names.
    ///
    /// # Errors
    /// As [`load`](Checkpoint::load); [`Error::Checkpoint`](crate::Error::Checkpoint) when there are other
    /// weights than those that the adapter learned on, or no adapter.
    pub fn load_on(
        path: &Path,
        base: Option<&Path>,
        optimizers: &'static [OptimizerRow],
    ) -> Result<Checkpoint> {
        Checkpoint::read(path, base, Wanted::All, optimizers)
    }

    /// [`load_on`](Checkpoint::load_on) of weights that stay as they are, for an adapter to stand beside them: without
    /// the optimizer's state, and a matrix of bf16 numbers takes half the memory. What is an adapter itself is read
    /// whole.
    ///
    /// # Errors
    /// As [`load_on`](Checkpoint::load_on).
    pub fn load_frozen(
        path: &Path,
        base: Option<&Path>,
        optimizers: &'static [OptimizerRow],
    ) -> Result<Checkpoint> {
        Checkpoint::read(path, base, Wanted::Frozen, optimizers)
    }

    fn read(
        path: &Path,
        base: Option<&Path>,
        wanted: Wanted,
        optimizers: &'static [OptimizerRow],
    ) -> Result<Checkpoint> {
        let whole = read_file(path, wanted, optimizers);
        let whole = whole.and_then(|it| it.on_base(base, optimizers));
        whole.map_err(|failure| failure.at(path))
    }

    /// [`load`](Checkpoint::load) of a file that is in memory, where there are no files or it came
    /// another way. Errors call it `name`. The weights under an adapter are read from their file.
    ///
    /// # Errors
    /// As [`load`](Checkpoint::load), but for those of reading it.
    pub fn from_bytes(name: impl Into<PathBuf>, file: &[u8]) -> Result<Checkpoint> {
        Checkpoint::from_bytes_with(name, file, OPTIMIZERS)
    }

    /// [`from_bytes`](Checkpoint::from_bytes) of a run with one of these optimizers.
    ///
    /// # Errors
    /// As [`from_bytes`](Checkpoint::from_bytes).
    pub fn from_bytes_with(
        name: impl Into<PathBuf>,
        file: &[u8],
        optimizers: &'static [OptimizerRow],
    ) -> Result<Checkpoint> {
        let path = name.into();
        let read = parse(file, file.len() as u64, optimizers);
        let read = read.and_then(|read| read.on_base(None, optimizers));
        let read = read.map_err(|failure| failure.at(&path))?;
        Ok(Checkpoint { path, ..read })
    }
}

impl Checkpoint {
    /// The checkpoint with the weights under its adapter, from `base` or the file that it names; one without
    /// an adapter as it is.
    fn on_base(
        self,
        base: Option<&Path>,
        optimizers: &'static [OptimizerRow],
    ) -> Result<Checkpoint, Failure> {
        let Some(saved) = &self.adapter else {
            let reason = message!("there is no adapter in it, so it needs no other file");
            let needless = CheckpointError::Setting { field: "base", reason };
            let needs = !self.meta.recipe.start.is_empty(); // the weights of its start, which are asked for later
            return if base.is_some() && !needs { Err(needless.into()) } else { Ok(self) };
        };
        let beside = || self.path.parent().unwrap_or(Path::new("")).join(&saved.base_file);
        let file = base.map_or_else(beside, Into::into);
        let under = match read_file(&file, Wanted::Frozen, optimizers) {
            Ok(under) => under,
            Err(Failure::Memory(error)) => return Err(Failure::Memory(error)),
            Err(Failure::Io(error)) => {
                return Err(saved.missing(file, error.to_string().into()).into());
            }
            Err(Failure::Content(error)) => {
                let why = with_causes(&error);
                return Err(saved.missing(file, why).into());
            }
        };
        if under.adapter.is_some() {
            let why = message!("it is an adapter, too");
            return Err(saved.missing(file, why).into());
        }
        let found = weights_blake3(under.parameters());
        if found != saved.base_blake3 {
            let why = message!("its weights have {}", hex(&found));
            return Err(saved.missing(file, why).into());
        }
        let (pairs, base_path) = (self.parameters, Some(file));
        Ok(Checkpoint { parameters: under.parameters, pairs, base_path, ..self })
    }
}

/// The tensors that are kept of a file that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    All,
    /// Where it is no adapter: without the optimizer's state, and matrices of bf16 numbers as such.
    Frozen,
}

fn read_file(
    path: &Path,
    wanted: Wanted,
    optimizers: &'static [OptimizerRow],
) -> Result<Checkpoint, Failure> {
    let (file, length) = open_regular(path)?;
    let read = parse_of(BufReader::with_capacity(CHUNK, file), length, wanted, optimizers)?;
    Ok(Checkpoint { path: path.into(), ..read })
}

/// Reads a checkpoint of `length` bytes from `input`.
pub(super) fn parse(
    input: impl Read,
    length: u64,
    optimizers: &'static [OptimizerRow],
) -> Result<Checkpoint, Failure> {
    parse_of(input, length, Wanted::All, optimizers)
}

fn parse_of(
    input: impl Read,
    length: u64,
    wanted: Wanted,
    optimizers: &'static [OptimizerRow],
) -> Result<Checkpoint, Failure> {
    let mut input = Hashing::new(input);
    let mut start = [0; FIXED as usize];
    let present = &mut start[..length.min(FIXED) as usize];
    input.read_exact(present)?;
    let fixed = Fixed::parse(present, length)?;

    let mut bytes = vec![0; fixed.header_length as usize]; // at most 4 MiB
    input.read_exact(&mut bytes)?;
    fixed.check(&bytes)?;
    let mut contents = header::decode(&bytes, optimizers)?;
    check(&contents)?;
    let data_start = table::padded(FIXED + fixed.header_length);
    let body = table::body_length(&contents.table);
    let expected = data_start.saturating_add(body).saturating_add(HASH);
    unless(expected == length, CheckpointError::Length { actual: length, expected })?;
    let is_frozen = wanted == Wanted::Frozen && contents.adapter.is_none();
    if is_frozen {
        contents.optimizer = None;
    } else {
        memory::require(body).map_err(Failure::Memory)?;
    }

    input.skip_zeros(FIXED + fixed.header_length, message!("the header"))?;
    let (mut floats, mut halves) = (Floats::new(), BTreeMap::new());
    let mut blob = Vec::new();
    for entry in &contents.table {
        match entry.role.as_str() {
            BLOB => blob = input.tensor(entry, |bytes, out| out.extend_from_slice(bytes))?,
            role if role != WEIGHT && is_frozen => {
                input.tensor(entry, |_, _: &mut Vec<f32>| ())?;
            }
            _ => {
                if is_frozen {
                    memory::require(entry.length).map_err(Failure::Memory)?;
                }
                let values = input.tensor(entry, |bytes, out| {
                    out.extend(bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)));
                })?;
                let is_matrix = is_frozen && entry.dims.len() == 2;
                match is_matrix.then(|| Halves::of(&values)).flatten() {
                    Some(half) => drop(halves.insert(entry.name.clone(), half)),
                    None => drop(floats.insert((entry.name.clone(), entry.role.clone()), values)),
                }
            }
        }
    }
    let found = input.hash.finalize();
    let mut stored = [0; HASH as usize];
    input.read_exact(&mut stored)?;
    unless(found == stored, CheckpointError::FileChecksum)?;
    let is_same = blake3::hash(&blob) == contents.tokenizer.blake3;
    unless(is_same, CheckpointError::TokenizerHash)?;
    for entry in &contents.table {
        if let Some(values) = floats.get(&(entry.name.clone(), entry.role.clone())) {
            check_values(&contents, entry, values)?;
        }
    }
    Ok(assemble(contents, (floats, halves), blob)?)
}

/// Finite, and no mean of squares below 0: it would become NaN under the optimizer's root.
pub(super) fn check_values(contents: &Contents, entry: &Entry, values: &[f32]) -> Checked {
    let is_finite = values.iter().all(|x| x.is_finite());
    unless(is_finite, CheckpointError::NotFinite { tensor: entry.label() })?;
    let is_negative = contents.is_mean_of_squares(&entry.role) && values.iter().any(|&x| x < 0.0);
    unless(!is_negative, CheckpointError::Negative { tensor: entry.label() })
}

/// The numbers of tensors by name and role.
type Floats = BTreeMap<(String, String), Vec<f32>>;

/// Puts the tensors, sorted by name in the file, into the model's order.
fn assemble(
    contents: Contents,
    (mut floats, mut halves): (Floats, BTreeMap<String, Halves>),
    blob: Vec<u8>,
) -> Checked<Checkpoint> {
    let mut take =
        |name: &str, role: &str| floats.remove(&(name.into(), role.into())).unwrap_or_default();
    let slots = contents.slots();
    let mut parameters = Vec::new();
    let mut states = Vec::new();
    for (name, param) in contents.parameters()? {
        let tensor = match halves.remove(&name) {
            Some(halves) => Tensor::parameter_of_halves(&param.shape, halves),
            None => Tensor::parameter_from_vec(&param.shape, take(&name, WEIGHT))?,
        };
        parameters.push((name.clone(), tensor));
        if !slots.is_empty() {
            let slots = slots.iter().map(|slot| take(&name, slot).into()).collect();
            states.push(ParameterState { name, slots });
        }
    }
    let Contents {
        config, attention, adapter, tokenizer, recipe, step, optimizer, optimizers, ..
    } = contents;
    let spec = adapter.as_ref().map(|adapter| adapter.spec.clone());
    let tokenizer = TokenizerSpec { kind: tokenizer.kind, blob };
    let state = |t| OptimizerState { t, parameters: states };
    Ok(Checkpoint {
        meta: Meta { config, attention, adapter: spec, tokenizer, recipe, step },
        parameters,
        optimizer: optimizer.map(|saved| (saved.name, state(saved.t))),
        path: Default::default(),
        adapter,
        pairs: Vec::new(),
        base_path: None,
        optimizers,
    })
}
