//! Reading a file: everything that is said before the tensors is checked before memory is taken for
//! one of them, and their blocks pass through a small buffer.

use super::block::BlockType;
use super::dequantise::dequantise;
use super::input::Input;
use super::value::MetaValue;
use crate::error::{FormatError, Result, refuse, shown};
use crate::safetensors::MAX_TENSORS;
use crate::wanted::{Wanted, finite, places};
use llm_core::message;
use std::collections::{BTreeMap, HashSet};
use std::io::Read;

/// The first bytes of a file.
pub(super) const MAGIC: [u8; 4] = *b"GGUF";
/// Default alignment of tensors, in bytes.
pub(super) const ALIGNMENT: u64 = 32;
const MAX_ALIGNMENT: u64 = 4096;
/// Key of another alignment.
const ALIGNMENT_KEY: &str = "general.alignment";
/// Most entries of metadata.
const MAX_ENTRIES: u64 = 1 << 12;
/// Most bytes of a name or a key.
const MAX_NAME: u64 = 256;
/// Most axes of a tensor.
const MAX_AXES: u32 = 4;
/// Numbers that are handed on at once, if a row has not more.
const PIECE: usize = 1 << 16;
/// Bytes of memory for a tensor besides its name, about.
const PER_TENSOR: u64 = 128;

/// A tensor of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorInfo {
    /// Name in the file.
    pub name: String,
    /// Lengths of the axes, row-major: numbers of the last axis are side by side. (The file has the last
    /// axis first.)
    pub shape: Vec<usize>,
    /// Type of the stored numbers.
    pub kind: BlockType,
    /// Bytes from the beginning of the first tensor.
    offset: u64,
    /// Bytes in the file.
    length: u64,
}

/// A file whose part before the tensors has been read.
#[derive(Debug)]
pub struct Gguf<R> {
    input: Input<R>,
    /// Byte of the file at which the first tensor begins.
    start: u64,
    /// All tensors, in the order of their bytes.
    pub tensors: Vec<TensorInfo>,
    /// Values of the metadata by their keys.
    pub metadata: BTreeMap<String, MetaValue>,
}

impl<R: Read> Gguf<R> {
    /// Reads what stands before the tensors in a file of `length` bytes.
    ///
    /// # Errors
    /// [`FormatError::Content`] when it is not within our limits and the format's rules.
    pub fn open(reader: R, length: u64) -> Result<Gguf<R>> {
        let mut input = Input::new(reader, length);
        let mut magic = [0; 4];
        input.fill(&mut magic)?;
        if magic != MAGIC {
            return refuse(message!("it does not begin with 'GGUF': not a GGUF file"));
        }
        match input.u32()? {
            2 | 3 => {}
            version if version.swap_bytes() <= 3 => {
                return refuse(message!("it was written for big-endian machines"));
            }
            version => {
                return refuse(message!("it is of version {}, only 2 and 3 are read", version));
            }
        }
        let (tensors, entries) = (input.u64()?, input.u64()?);
        if tensors > MAX_TENSORS as u64 || entries > MAX_ENTRIES {
            return refuse(message!(
                "{} tensors and {} entries of metadata, the limits are {} \
                 and {}",
                tensors,
                entries,
                MAX_TENSORS,
                MAX_ENTRIES
            ));
        }
        let metadata = metadata(&mut input, entries)?;
        let alignment = alignment(&metadata)?;
        let tensors = infos(&mut input, tensors, alignment)?;
        let start = input.position.next_multiple_of(alignment);
        let end = tensors.last().map_or(0, |tensor| tensor.offset + tensor.length);
        // The first tensor begins where the last name ends, or so: a file may end there too.
        let body = length.saturating_sub(start);
        if body < end {
            let why = message!("the file ends too early: {} of {} bytes of tensors", body, end);
            return refuse(why);
        }
        if body > end.next_multiple_of(alignment) {
            return refuse(message!("{} bytes follow the last tensor", body - end));
        }
        Ok(Gguf { input, start, tensors, metadata })
    }

    /// The tensor of that name.
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.tensors.iter().find(|tensor| tensor.name == name)
    }

    /// Reads the tensors that are `wanted`, all of which must be there, and no others. Of each some
    /// rows a time go to `take`, with its number in that list and that of the first row: a piece is
    /// whole rows of the last axis.
    ///
    /// # Errors
    /// [`FormatError::Content`] when a tensor is missing, unknown, of another shape, or not finite.
    pub fn read(
        self,
        wanted: &[Wanted],
        mut take: impl FnMut(usize, usize, &[f32]) -> Result<()>,
    ) -> Result<()> {
        let Gguf { mut input, start, tensors, metadata: _ } = self;
        let found = tensors.iter().map(|tensor| (tensor.name.as_str(), &tensor.shape[..]));
        let places = places(wanted, found, |_| false)?;
        let (mut bytes, mut numbers) = (Vec::new(), Vec::new());
        for (tensor, i) in tensors.iter().zip(places).filter_map(|(t, place)| Some((t, place?))) {
            input.skip((start + tensor.offset).saturating_sub(input.position))?;
            let width = tensor.shape.last().copied().unwrap_or(1);
            let rows = tensor.shape.iter().product::<usize>() / width;
            let row = width / tensor.kind.numbers() * tensor.kind.bytes();
            let at_once = (PIECE / width).max(1);
            for first in (0..rows).step_by(at_once) {
                let count = at_once.min(rows - first);
                bytes.resize(count * row, 0);
                numbers.resize(count * width, 0.0);
                input.fill(&mut bytes)?;
                dequantise(tensor.kind, &bytes, &mut numbers);
                finite(&tensor.name, &numbers)?;
                take(i, first, &numbers)?;
            }
        }
        Ok(())
    }
}

fn metadata(input: &mut Input<impl Read>, entries: u64) -> Result<BTreeMap<String, MetaValue>> {
    let mut metadata = BTreeMap::new();
    for _ in 0..entries {
        let key = input.text(MAX_NAME)?;
        let value = MetaValue::read(input).map_err(|e| match e {
            FormatError::Content(why) => FormatError::content(message!("{}: {}", shown(&key), why)),
            other => other,
        })?;
        input.keep(PER_TENSOR)?;
        if let Some(twice) = metadata.insert(key.clone(), value).map(|_| shown(&key)) {
            return refuse(message!("{} is there twice", twice));
        }
    }
    Ok(metadata)
}

fn alignment(metadata: &BTreeMap<String, MetaValue>) -> Result<u64> {
    let Some(value) = metadata.get(ALIGNMENT_KEY) else { return Ok(ALIGNMENT) };
    let fits = |n: &u64| n.is_power_of_two() && *n <= MAX_ALIGNMENT;
    value.whole().filter(fits).ok_or_else(|| {
        let found = value.in_words();
        let why =
            message!("{} is {}, not a power of two up to {}", ALIGNMENT_KEY, found, MAX_ALIGNMENT);
        FormatError::content(why)
    })
}

/// The table of tensors: one begins where the one before it ends, at the next multiple of the
/// alignment, as in the format's own reader.
fn infos(input: &mut Input<impl Read>, count: u64, alignment: u64) -> Result<Vec<TensorInfo>> {
    let (mut tensors, mut names, mut next) = (Vec::new(), HashSet::new(), 0u64);
    for _ in 0..count {
        let name = input.text(MAX_NAME)?;
        input.keep(2 * PER_TENSOR)?;
        let tensor = info(input, name)?;
        let bad = |why| FormatError::content(message!("tensor {}: {}", shown(&tensor.name), why));
        if !names.insert(tensor.name.clone()) {
            return Err(bad(message!("it is there twice")));
        }
        if tensor.offset != next {
            return Err(bad(message!("it begins at byte {}, not at {}", tensor.offset, next)));
        }
        let end = tensor.offset.checked_add(tensor.length);
        let end = end.and_then(|end| end.checked_next_multiple_of(alignment));
        next = end.ok_or_else(|| bad(message!("more bytes than there can be")))?;
        tensors.push(tensor);
    }
    Ok(tensors)
}

fn info(input: &mut Input<impl Read>, name: String) -> Result<TensorInfo> {
    let bad = |why| FormatError::content(message!("tensor {}: {}", shown(&name), why));
    let axes = input.u32()?;
    if axes == 0 || axes > MAX_AXES {
        return Err(bad(message!("{} axes, not 1 to {}", axes, MAX_AXES)));
    }
    let (mut shape, mut numbers) = (Vec::new(), Some(1usize));
    for _ in 0..axes {
        let n = usize::try_from(input.u64()?).ok();
        numbers = numbers.zip(n).and_then(|(numbers, n)| numbers.checked_mul(n));
        shape.insert(0, n.unwrap_or(0));
    }
    let kind = BlockType::from_id(input.u32()?);
    let kind = kind.map_err(|kind| {
        let read = BlockType::ALL.map(BlockType::name).join(", ");
        bad(message!("it is {}, only {} are read", kind, read))
    })?;
    let Some(numbers) = numbers.filter(|numbers| *numbers > 0) else {
        return Err(bad(message!("no numbers, or more than there can be")));
    };
    let width = shape.last().copied().unwrap_or(0);
    if !width.is_multiple_of(kind.numbers()) {
        let (name, block) = (kind.name(), kind.numbers());
        let why = message!("rows of {} numbers are no whole blocks of {} ({})", width, block, name);
        return Err(bad(why));
    }
    let length = ((numbers / kind.numbers()) as u64).checked_mul(kind.bytes() as u64);
    let length = length.ok_or_else(|| bad(message!("more bytes than there can be")))?;
    let offset = input.u64()?;
    Ok(TensorInfo { name, shape, kind, offset, length })
}
