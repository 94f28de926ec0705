//! The door of the fuzz targets to what lies below the checksums. Compiled for them and for tests.

use super::check::check_settings;
use super::contents::Contents;
use super::fixed::FORMAT_VERSION;
use super::limits::MAX_BLOB;
use super::opened::Checkpoint;
use super::{fixed, header, table};
use crate::base::{CheckpointError, Result};
use crate::optim::OPTIMIZERS;

/// Bytes of tensors; more would take longer and show nothing else.
const LARGEST_BODY: u64 = 1 << 14;

/// Reads a checkpoint from memory, as [`Checkpoint::load`] reads a file.
///
/// # Errors
/// As [`Checkpoint::load`].
pub fn read(file: &[u8]) -> Result<Checkpoint> {
    Checkpoint::from_bytes("memory", file)
}

/// A file of the format `version` with correct lengths and checksums around any header and body.
pub fn signed(version: u32, header: &[u8], body: &[u8]) -> Vec<u8> {
    let mut file = fixed::write(version, header, body.len() as u64).to_vec();
    file.extend(header);
    file.resize(table::padded(file.len() as u64) as usize, 0);
    file.extend(body);
    file.extend(blake3::hash(&file).as_bytes());
    file
}

/// The version of a file, its header and its body, without the final hash; nothing for a file that
/// has none.
pub fn apart(file: &[u8]) -> Option<(u32, &[u8], &[u8])> {
    let version = u32::from_le_bytes(file.get(8..12)?.try_into().ok()?);
    let length = u64::from_le_bytes(file.get(16..24)?.try_into().ok()?);
    let header = file.get(40..usize::try_from(length.checked_add(40)?).ok()?)?;
    let start = usize::try_from(table::padded(40 + length)).ok()?;
    Some((version, header, file.get(start..file.len().checked_sub(32)?)?))
}

/// A file of the settings in `header`, with the table that follows from them, tensors made of
/// `filler` over and over, and all checksums right. Nothing when the settings cannot be, or make
/// more than [`LARGEST_BODY`].
pub fn complete(header: &[u8], filler: &[u8]) -> Option<Vec<u8>> {
    let mut contents = decode(header)?;
    contents.tokenizer.length = contents.tokenizer.length.min(MAX_BLOB);
    check_settings(&contents).ok()?;
    // Cheaper than the table, and never more than its length.
    let weights: u64 = contents.parameters().ok()?.iter().map(|(_, p)| 4 * p.numel()).sum();
    if weights.max(contents.tokenizer.length) > LARGEST_BODY || filler.is_empty() {
        return None;
    }
    let blob = contents.tokenizer.length;
    contents.table = table::expected(contents.parameters().ok()?, contents.slots(), blob);
    let length = table::body_length(&contents.table);
    if length > LARGEST_BODY {
        return None;
    }
    let mut body = vec![0; length as usize];
    let mut filler = filler.iter().copied().cycle();
    for entry in &mut contents.table {
        let (start, length) = (entry.offset as usize, entry.length as usize);
        let tensor = &mut body[start..start + length];
        tensor.fill_with(|| filler.next().unwrap_or(0));
        entry.crc32 = crc32fast::hash(tensor);
        if entry.role == table::BLOB {
            contents.tokenizer.blake3 = blake3::hash(tensor).into();
        }
    }
    Some(signed(FORMAT_VERSION, &header::encode(&contents).ok()?, &body))
}

/// A header at the beginning of these bytes.
pub(super) fn decode(bytes: &[u8]) -> Option<Contents> {
    match header::decode(bytes, OPTIMIZERS) {
        Err(CheckpointError::HeaderRest { extra }) => {
            header::decode(&bytes[..bytes.len() - extra], OPTIMIZERS).ok()
        }
        decoded => decoded.ok(),
    }
}
