//! The door of the fuzz targets to what lies below the checksums. Compiled for them and for tests.

use super::header::Header;
use super::{Checkpoint, check, fixed, limits, load, table};
use crate::error::Result;
use std::path::Path;

/// Bytes of tensors; more would take longer and show nothing else.
const LARGEST_BODY: u64 = 1 << 14;

/// Reads a checkpoint from memory, as [`Checkpoint::load`] reads a file.
///
/// # Errors
/// As there.
pub fn read(file: &[u8]) -> Result<Checkpoint> {
    let read = load::parse(file, file.len() as u64);
    read.map_err(|failure| failure.at(Path::new("memory")))
}

/// A file with correct lengths and checksums around any header and body.
pub fn signed(header: &[u8], body: &[u8]) -> Vec<u8> {
    let mut file = fixed::write(header, body.len() as u64).to_vec();
    file.extend(header);
    file.resize(table::padded(file.len() as u64) as usize, 0);
    file.extend(body);
    file.extend(blake3::hash(&file).as_bytes());
    file
}

/// The header of a file and its body, without the final hash; nothing for a file that has none.
pub fn apart(file: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = u64::from_le_bytes(file.get(16..24)?.try_into().ok()?);
    let header = file.get(40..usize::try_from(length.checked_add(40)?).ok()?)?;
    let start = usize::try_from(table::padded(40 + length)).ok()?;
    Some((header, file.get(start..file.len().checked_sub(32)?)?))
}

/// A file of the settings in `header`, with the table that follows from them, tensors made of
/// `filler` over and over, and all checksums right. Nothing when the settings cannot be, or make
/// more than [`LARGEST_BODY`].
pub fn complete(header: &[u8], filler: &[u8]) -> Option<Vec<u8>> {
    let mut header: Header = postcard::take_from_bytes(header).ok()?.0;
    header.tokenizer_length = header.tokenizer_length.min(limits::MAX_BLOB);
    let config = check::check_settings(&header).ok()?;
    // Cheaper than the table, and never more than its length.
    let weights = 4 * config.parameter_count();
    if weights.max(header.tokenizer_length) > LARGEST_BODY || filler.is_empty() {
        return None;
    }
    header.tensors = table::expected(&config, header.moments, header.tokenizer_length);
    let length = table::body_length(&header.tensors);
    if length > LARGEST_BODY {
        return None;
    }
    let mut body = vec![0; length as usize];
    let mut filler = filler.iter().copied().cycle();
    for entry in &mut header.tensors {
        let (start, length) = (entry.offset as usize, entry.length as usize);
        let tensor = &mut body[start..start + length];
        tensor.fill_with(|| filler.next().unwrap_or(0));
        entry.crc32 = crc32fast::hash(tensor);
        if entry.role == table::Role::Blob {
            header.tokenizer_blake3 = blake3::hash(tensor).into();
        }
    }
    Some(signed(&postcard::to_stdvec(&header).ok()?, &body))
}
