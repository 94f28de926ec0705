//! The tensor table: which tensors a checkpoint has, of which shapes, and where. All of it follows
//! from the settings; the table in a file must be equal to the one computed here.

use super::limits::{Checked, MAX_DIMS, MAX_NAME, MAX_TENSOR_NAME, MAX_TENSORS, at_most, unless};
use crate::base::CheckpointError;
use crate::message;
use crate::model::ParamList;
use serde::{Deserialize, Serialize};

/// Every tensor starts at a multiple of this many bytes.
pub(super) const ALIGN: u64 = 64;

/// Name of the entry that holds the tokenizer's data.
pub(super) const TOKENIZER: &str = "tokenizer";

/// The role of a parameter. The optimizer's slots for it have their names as roles.
pub(super) const WEIGHT: &str = "weight";
/// The role of bytes that are no numbers.
pub(super) const BLOB: &str = "blob";
/// The type of four bytes, little-endian.
pub(super) const F32: &str = "f32";
/// The type of one byte.
pub(super) const U8: &str = "u8";

/// One row of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) name: String,
    /// What it is for.
    pub(super) role: String,
    /// The type of its elements.
    pub(super) dtype: String,
    pub(super) dims: Vec<u64>,
    /// Bytes from the end of the padded header, so that it does not depend on the header's length.
    pub(super) offset: u64,
    /// Bytes without padding.
    pub(super) length: u64,
    pub(super) crc32: u32,
}

impl Entry {
    fn new(name: &str, role: &str, dims: &[usize]) -> Entry {
        let (dtype, width) = if role == BLOB { (U8, 1) } else { (F32, 4) };
        let dims: Vec<u64> = dims.iter().map(|&d| d as u64).collect();
        let length = width * dims.iter().product::<u64>();
        let (name, role, dtype) = (name.into(), role.into(), dtype.into());
        Entry { name, role, dtype, dims, offset: 0, length, crc32: 0 }
    }

    /// All but the checksum, for messages.
    fn printed(&self) -> [(&'static str, String); 6] {
        let Entry { name, role, dtype, dims, offset, length, crc32: _ } = self;
        [
            ("name", format!("'{}'", name.escape_default())),
            ("role", format!("{role:?}")),
            ("type", format!("{dtype:?}")),
            ("shape", format!("{dims:?}")),
            ("offset", format!("{offset:?}")),
            ("length", format!("{length:?}")),
        ]
    }

    /// The name for messages: `wte`, `wte (m)`.
    pub(super) fn label(&self) -> String {
        match self.role.as_str() {
            WEIGHT | BLOB => self.name.clone(),
            slot => format!("{} ({slot})", self.name),
        }
    }
}

/// The next multiple of [`ALIGN`].
pub(super) fn padded(length: u64) -> u64 {
    length.saturating_add(ALIGN - 1) / ALIGN * ALIGN
}

/// The whole table, checksums left at 0: sorted by name, of one name the weight first and then the
/// optimizer's `slots` in their order. The caller has checked the sizes of all `parameters` and the
/// blob's length.
pub(super) fn expected(parameters: ParamList, slots: &[String], blob: u64) -> Vec<Entry> {
    let roles: Vec<&str> = [WEIGHT].into_iter().chain(slots.iter().map(String::as_str)).collect();
    let parameters = parameters.into_iter();
    let mut tensors: Vec<_> = parameters.map(|(name, p)| (name, p.shape, &roles[..])).collect();
    if blob > 0 {
        tensors.push((TOKENIZER.into(), vec![blob as usize], &[BLOB]));
    }
    tensors.sort_unstable(); // by their names, which differ
    let mut table = Vec::new();
    let mut offset = 0;
    for (name, dims, roles) in tensors {
        for &role in roles {
            let entry = Entry { offset, ..Entry::new(&name, role, &dims) };
            offset += padded(entry.length);
            table.push(entry);
        }
    }
    table
}

/// Bytes of all tensors with their padding.
pub(super) fn body_length(table: &[Entry]) -> u64 {
    table.last().map_or(0, |e| e.offset.saturating_add(padded(e.length)))
}

/// Refuses a table from a file with a number beyond its limit.
pub(super) fn check_limits(table: &[Entry]) -> Checked {
    at_most(message!("the number of tensors"), table.len() as u64, MAX_TENSORS)?;
    for Entry { name, role, dtype, dims, .. } in table {
        at_most(message!("the length of a tensor's name"), name.len() as u64, MAX_TENSOR_NAME)?;
        at_most(message!("the length of a tensor's role"), role.len() as u64, MAX_NAME)?;
        at_most(message!("the length of a tensor's type"), dtype.len() as u64, MAX_NAME)?;
        at_most(message!("the number of a tensor's axes"), dims.len() as u64, MAX_DIMS)?;
    }
    Ok(())
}

/// Refuses a table `found` in a file that is not the `expected` one, apart from checksums.
pub(super) fn check_equal(found: &[Entry], expected: &[Entry]) -> Checked {
    let (actual, count) = (found.len(), expected.len());
    unless(actual == count, CheckpointError::TensorCount { actual, expected: count })?;
    for (found, expected) in found.iter().zip(expected) {
        let mut pairs = found.printed().into_iter().zip(expected.printed());
        // What is printed is all there is to these values: unequal ones are unequal as text too.
        if let Some(((field, found), (_, wanted))) = pairs.find(|(a, b)| a != b) {
            let tensor = expected.label();
            return Err(CheckpointError::Tensor { tensor, field, found, expected: wanted });
        }
    }
    Ok(())
}
