//! Values of the metadata, read and written.

use super::input::Input;
use crate::error::{FormatError, Result, refuse, shown};
use llm_core::base::Message;
use llm_core::message;
use std::collections::BTreeMap;
use std::io::Read;

/// What a file says besides its tensors.
pub(super) type Metadata = BTreeMap<String, MetaValue>;

/// A key with its value.
pub(super) type Entry = (String, MetaValue);

/// A value, of the type that the file gives it.
#[derive(Clone, Debug, PartialEq)]
pub enum MetaValue {
    /// A whole number of 8 to 64 bits, with or without a sign, and the number of its type.
    Whole(i128, u32),
    /// f32.
    Single(f32),
    /// f64.
    Double(f64),
    /// A truth value.
    Bool(bool),
    /// UTF-8.
    Text(String),
    /// Several texts.
    Texts(Vec<String>),
    /// Several i32.
    Ints(Vec<i32>),
    /// Several numbers of another type, whose number this is, as bytes.
    Others(u32, Vec<u8>),
}

/// Numbers of the types in a file.
mod kind {
    pub(super) const F32: u32 = 6;
    pub(super) const BOOL: u32 = 7;
    pub(super) const TEXT: u32 = 8;
    pub(super) const LIST: u32 = 9;
    pub(super) const F64: u32 = 12;
    pub(super) const I32: u32 = 5;
    pub(super) const U32: u32 = 4;

    /// Bytes of a number of this type.
    pub(super) fn width(kind: u32) -> Option<usize> {
        match kind {
            0 | 1 | BOOL => Some(1),
            2 | 3 => Some(2),
            U32 | I32 | F32 => Some(4),
            10 | 11 | F64 => Some(8),
            _ => None,
        }
    }
}

/// Most elements of a list.
const MAX_LIST: u64 = 1 << 20;
/// Memory of a text in a list, besides its bytes: where it lies, and the least that is given out.
const PER_TEXT: u64 = size_of::<String>() as u64 + 32;
/// Most bytes of a text: a chat template is some thousands.
const MAX_TEXT: u64 = 1 << 20;

impl MetaValue {
    /// A u32.
    pub fn u32(n: u32) -> MetaValue {
        MetaValue::Whole(n.into(), kind::U32)
    }

    /// A text.
    pub fn text(text: &str) -> MetaValue {
        MetaValue::Text(text.into())
    }

    /// A whole number of 0 or more, of whatever type.
    pub fn whole(&self) -> Option<u64> {
        match self {
            MetaValue::Whole(n, _) => u64::try_from(*n).ok(),
            _ => None,
        }
    }

    /// A number with a fraction.
    pub fn real(&self) -> Option<f64> {
        match self {
            MetaValue::Single(x) => Some(f64::from(*x)),
            MetaValue::Double(x) => Some(*x),
            _ => None,
        }
    }

    /// For a message.
    pub(super) fn in_words(&self) -> Message {
        match self {
            MetaValue::Whole(n, _) => n.to_string().into(),
            MetaValue::Single(x) => x.to_string().into(),
            MetaValue::Double(x) => x.to_string().into(),
            MetaValue::Bool(yes) => yes.to_string().into(),
            MetaValue::Text(text) => format!("'{}'", shown(text)).into(),
            MetaValue::Texts(_) | MetaValue::Ints(_) | MetaValue::Others(..) => message!("a list"),
        }
    }

    /// The next value of a file.
    pub(super) fn read(input: &mut Input<impl Read>) -> Result<MetaValue> {
        match input.u32()? {
            kind::LIST => list(input),
            kind => one(input, kind),
        }
    }

    /// Appends type and value.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let mut tagged = |kind: u32, bytes: &[u8]| {
            out.extend(kind.to_le_bytes());
            out.extend(bytes);
        };
        match self {
            MetaValue::Whole(n, kind) => {
                tagged(*kind, &n.to_le_bytes()[..kind::width(*kind).unwrap_or(8)]);
            }
            MetaValue::Single(x) => tagged(kind::F32, &x.to_le_bytes()),
            MetaValue::Double(x) => tagged(kind::F64, &x.to_le_bytes()),
            MetaValue::Bool(yes) => tagged(kind::BOOL, &[u8::from(*yes)]),
            MetaValue::Text(text) => {
                tagged(kind::TEXT, &[]);
                write_text(text, out);
            }
            MetaValue::Texts(texts) => {
                tagged(kind::LIST, &list_head(kind::TEXT, texts.len()));
                texts.iter().for_each(|text| write_text(text, out));
            }
            MetaValue::Ints(numbers) => {
                tagged(kind::LIST, &list_head(kind::I32, numbers.len()));
                numbers.iter().for_each(|n| out.extend(n.to_le_bytes()));
            }
            MetaValue::Others(kind, bytes) => {
                let count = bytes.len() / kind::width(*kind).unwrap_or(1);
                tagged(kind::LIST, &list_head(*kind, count));
                out.extend(bytes);
            }
        }
    }
}

fn list_head(kind: u32, count: usize) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &(count as u64).to_le_bytes()].concat()
}

/// Appends a text: its length, its bytes.
pub(super) fn write_text(text: &str, out: &mut Vec<u8>) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

fn one(input: &mut Input<impl Read>, kind: u32) -> Result<MetaValue> {
    if kind == kind::TEXT {
        return Ok(MetaValue::Text(input.text(MAX_TEXT)?));
    }
    let width = width(kind)?;
    let mut bytes = [0; 8];
    input.fill(&mut bytes[..width])?;
    let n = u64::from_le_bytes(bytes);
    Ok(match kind {
        1 => MetaValue::Whole((n as i8).into(), kind),
        3 => MetaValue::Whole((n as i16).into(), kind),
        kind::I32 => MetaValue::Whole((n as i32).into(), kind),
        11 => MetaValue::Whole((n as i64).into(), kind),
        kind::F32 => MetaValue::Single(f32::from_bits(n as u32)),
        kind::F64 => MetaValue::Double(f64::from_bits(n)),
        kind::BOOL if n > 1 => return refuse(message!("a truth value of {}, not 0 or 1", n)),
        kind::BOOL => MetaValue::Bool(n == 1),
        _ => MetaValue::Whole(n.into(), kind),
    })
}

fn width(kind: u32) -> Result<usize> {
    let unknown = || FormatError::content(message!("a value of the unknown type {}", kind));
    kind::width(kind).ok_or_else(unknown)
}

fn list(input: &mut Input<impl Read>) -> Result<MetaValue> {
    let (kind, count) = (input.u32()?, input.u64()?);
    if kind == kind::LIST {
        return refuse(message!("a list of lists, which is not read"));
    }
    let least = if kind == kind::TEXT { 8 } else { width(kind)? as u64 };
    if count > MAX_LIST {
        return refuse(message!("a list of {} values, the limit is {}", count, MAX_LIST));
    }
    input.has(count * least)?;
    if kind == kind::TEXT {
        input.keep(count * PER_TEXT)?;
        let texts = (0..count).map(|_| input.text(MAX_TEXT));
        return Ok(MetaValue::Texts(texts.collect::<Result<_>>()?));
    }
    input.keep(count * least)?;
    let mut bytes = vec![0; (count * least) as usize];
    input.fill(&mut bytes)?;
    Ok(match kind {
        kind::I32 => {
            MetaValue::Ints(bytes.as_chunks().0.iter().map(|b| i32::from_le_bytes(*b)).collect())
        }
        _ => MetaValue::Others(kind, bytes),
    })
}
