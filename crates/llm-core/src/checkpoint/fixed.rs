//! The first 40 bytes.
//!
//! ```text
//!  0  8  magic
//!  8  4  format version          12  4  flags: none defined
//! 16  8  header length           24  8  file length
//! 32  4  CRC32 of bytes 0..32 and the header        36  4  zero
//! ```

use super::limits::{Checked, MAX_HEADER, at_most, unless};
use super::table::padded;
use crate::base::CheckpointError;
use crate::message;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The version that is written, and the only one that is read.
pub const FORMAT_VERSION: u32 = 2;

/// A high bit, line ends of both kinds and a ^Z: damage by text-mode copying shows at once.
pub(super) const MAGIC: [u8; 8] = *b"\x89LLMC\r\n\x1a";
/// Bytes of the fixed part.
pub(super) const FIXED: u64 = 40;
/// Bytes of the BLAKE3 hash that ends the file.
pub(super) const HASH: u64 = 32;

/// Whether the file begins as a checkpoint does. For a look before it is replaced; loading checks
/// everything.
pub fn looks_like_checkpoint(path: &Path) -> bool {
    let mut start = [0; MAGIC.len()];
    File::open(path).and_then(|mut f| f.read_exact(&mut start)).is_ok() && start == MAGIC
}

/// What the fixed part says, checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fixed {
    pub(super) header_length: u64,
    crc32: u32,
    start: [u8; 32],
}

impl Fixed {
    /// Reads `bytes`, the first 40 (or all, if there are fewer) of a file of `file_length`.
    pub(super) fn parse(bytes: &[u8], file_length: u64) -> Checked<Fixed> {
        let is_one = bytes.iter().zip(&MAGIC).all(|(a, b)| a == b);
        unless(is_one, CheckpointError::NotACheckpoint)?;
        let too_short = CheckpointError::TooShort { actual: file_length };
        let Some(bytes) = bytes.first_chunk::<{ FIXED as usize }>() else { return Err(too_short) };
        let version = u32::from_le_bytes(*part(bytes, 8));
        match version {
            FORMAT_VERSION => {}
            1 => return Err(CheckpointError::OldFormat { found: version }),
            _ => return Err(CheckpointError::Version { found: version, newest: FORMAT_VERSION }),
        }
        let flags = u32::from_le_bytes(*part(bytes, 12));
        unless(flags == 0, CheckpointError::Flags { flags })?;
        let header_length = u64::from_le_bytes(*part(bytes, 16));
        let expected = u64::from_le_bytes(*part(bytes, 24));
        let actual = file_length;
        unless(actual == expected, CheckpointError::Length { actual, expected })?;
        at_most(message!("the length of the header"), header_length, MAX_HEADER)?;
        unless(file_length >= padded(FIXED + header_length) + HASH, too_short)?;
        let after = message!("the header's checksum");
        unless(*part(bytes, 36) == [0; 4], CheckpointError::Padding { after })?;
        let crc32 = u32::from_le_bytes(*part(bytes, 32));
        Ok(Fixed { header_length, crc32, start: *part(bytes, 0) })
    }

    /// Refuses a header that the checksum does not fit.
    pub(super) fn check(&self, header: &[u8]) -> Checked {
        unless(checksum(&self.start, header) == self.crc32, CheckpointError::HeaderChecksum)
    }
}

/// The fixed part of a file with a header in the format `version` and `body_length` bytes of
/// tensors.
pub(super) fn write(version: u32, header: &[u8], body_length: u64) -> [u8; FIXED as usize] {
    let header_length = header.len() as u64;
    let file_length = padded(FIXED + header_length) + body_length + HASH;
    let mut out = [0; FIXED as usize];
    out[..8].copy_from_slice(&MAGIC);
    out[8..12].copy_from_slice(&version.to_le_bytes());
    out[16..24].copy_from_slice(&header_length.to_le_bytes());
    out[24..32].copy_from_slice(&file_length.to_le_bytes());
    let crc32 = checksum(part::<32>(&out, 0), header);
    out[32..36].copy_from_slice(&crc32.to_le_bytes());
    out
}

fn checksum(start: &[u8; 32], header: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(start);
    crc.update(header);
    crc.finalize()
}

/// N bytes from `at` on. Every call names a place inside the 40.
fn part<const N: usize>(bytes: &[u8; FIXED as usize], at: usize) -> &[u8; N] {
    bytes[at..].first_chunk().expect("the place is inside the fixed part")
}
