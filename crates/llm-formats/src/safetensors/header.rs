//! Reading the header: limits first, then the format's own rules.

use super::Dtype;
use crate::error::{FormatError, Result, refuse, said};
use ::safetensors::tensor::Metadata;
use llm_core::message;
use serde::de::{Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Most bytes of the header.
pub const MAX_HEADER: u64 = 16 << 20;
/// Most bytes of a tensor's name.
pub const MAX_NAME: usize = 4096;
/// Most tensors of a file.
pub const MAX_TENSORS: usize = 1 << 16;
/// Most entries of metadata.
const MAX_METADATA: usize = 1 << 12;
/// Most axes of a tensor.
const MAX_AXES: usize = 8;

/// A tensor of a file.
#[derive(Clone, Debug)]
pub struct Row {
    /// Name in the file.
    pub name: String,
    /// Type of the elements.
    pub dtype: Dtype,
    /// Lengths of the axes.
    pub shape: Vec<usize>,
    /// Bytes in the file.
    pub length: u64,
    /// Number of the file, from 0, where several are read as one.
    pub(super) file: usize,
}

/// All tensors in the order of their bytes, and the metadata. `body` is the number of bytes after
/// the header, which the tensors must cover.
pub(super) fn parse(header: &[u8], body: u64) -> Result<(Vec<Row>, BTreeMap<String, String>)> {
    let text = std::str::from_utf8(header).map_err(|_| {
        FormatError::content(message!("its header is no UTF-8: not a safetensors file"))
    })?;
    let bad = |e: serde_json::Error| FormatError::content(message!("header: {}", said(&e)));
    if !text.starts_with('{') {
        return refuse(message!("its header does not begin with '{{': not a safetensors file"));
    }
    serde_json::from_str::<Limited>(text).map_err(bad)?;
    let parsed: Metadata = serde_json::from_str(text).map_err(bad)?;
    if parsed.data_len() as u64 != body {
        let why =
            message!("{} bytes of tensors are there, the header says {}", body, parsed.data_len());
        return refuse(why);
    }
    let row = |name: String| {
        let info = parsed.info(&name)?;
        let (start, end) = info.data_offsets;
        let length = end.saturating_sub(start) as u64;
        Some(Row { name, dtype: info.dtype, shape: info.shape.clone(), length, file: 0 })
    };
    let rows = parsed.offset_keys().into_iter().filter_map(row).collect();
    let metadata = parsed.metadata().iter().flatten();
    Ok((rows, metadata.map(|(key, value)| (key.clone(), value.clone())).collect()))
}

/// A header within the limits: the parser proper keeps parts of what it reads several times.
struct Limited;

impl<'de> Deserialize<'de> for Limited {
    fn deserialize<D: Deserializer<'de>>(header: D) -> Result<Limited, D::Error> {
        header.deserialize_map(Limited)
    }
}

impl<'de> Visitor<'de> for Limited {
    type Value = Limited;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the tensors by their names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Limited, A::Error> {
        let mut names = BTreeSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if name.len() > MAX_NAME {
                let reason = format!("a name of {} bytes, the limit is {MAX_NAME}", name.len());
                return Err(A::Error::custom(reason));
            }
            match &*name {
                "__metadata__" => {
                    map.next_value::<Option<Few<MAX_METADATA>>>()?;
                }
                _ => {
                    map.next_value::<Entry>()?;
                }
            }
            if names.len() > MAX_TENSORS {
                return Err(A::Error::custom(format!("more than {MAX_TENSORS} tensors")));
            }
            if let Some(twice) = names.replace(name) {
                return Err(A::Error::custom(format!("tensor {twice} is there twice")));
            }
        }
        Ok(Limited)
    }
}

/// At most this many strings by their names, or elements of a list.
struct Few<const MOST: usize>;

impl<'de, const MOST: usize> Deserialize<'de> for Few<MOST> {
    fn deserialize<D: Deserializer<'de>>(few: D) -> Result<Few<MOST>, D::Error> {
        few.deserialize_any(Few)
    }
}

impl<'de, const MOST: usize> Visitor<'de> for Few<MOST> {
    type Value = Few<MOST>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if MOST == MAX_AXES { "a shape" } else { "strings by their names" })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Few<MOST>, A::Error> {
        let mut left = MOST;
        while map.next_entry::<String, String>()?.is_some() {
            let more = || A::Error::custom(format!("more than {MOST} entries of metadata"));
            left = left.checked_sub(1).ok_or_else(more)?;
        }
        Ok(Few)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Few<MOST>, A::Error> {
        let mut left = MOST;
        while seq.next_element::<IgnoredAny>()?.is_some() {
            let more = || A::Error::custom(format!("a shape of more than {MOST} axes"));
            left = left.checked_sub(1).ok_or_else(more)?;
        }
        Ok(Few)
    }
}

/// A tensor's entry: these fields and no others.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only whether it can be read matters")]
struct Entry {
    dtype: Dtype,
    shape: Few<MAX_AXES>,
    data_offsets: (u64, u64),
}
