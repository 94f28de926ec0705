//! Where the bytes of a file are, and reading them.

use crate::error::Result;
use llm_core::base::{Message, open_regular};
use llm_core::{Error, IoAction, message};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Where the bytes of a file are.
pub(super) enum Held {
    /// In the file, after `skipped` bytes.
    Disk {
        skipped: u64,
        len: u64,
    },
    Memory(Vec<u8>),
}

impl Held {
    pub(super) fn len(&self) -> u64 {
        match self {
            Held::Disk { len, .. } => *len,
            Held::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Without the first `n` bytes of a whole file.
    pub(super) fn after(self, n: u64) -> Held {
        match self {
            Held::Disk { skipped, len } => {
                Held::Disk { skipped: skipped + n, len: len.saturating_sub(n) }
            }
            Held::Memory(mut bytes) => {
                bytes.drain(..n as usize);
                Held::Memory(bytes)
            }
        }
    }

    /// The bytes of the file at `path`, one after the other. What it grows by while it is read does not
    /// count.
    pub(super) fn reader(&self, path: &Path) -> Result<Box<dyn Read + '_>> {
        let (skipped, len) = match self {
            Held::Memory(bytes) => return Ok(Box::new(&bytes[..])),
            Held::Disk { skipped, len } => (*skipped, *len),
        };
        let (mut file, _) = open_regular(path).map_err(|e| unreadable(path, e))?;
        file.seek(SeekFrom::Start(skipped)).map_err(|e| unreadable(path, e))?;
        Ok(Box::new(file.take(len)))
    }

    /// The first `most` bytes.
    pub(super) fn beginning(&self, path: &Path, most: usize) -> Result<Vec<u8>> {
        let mut sample = Vec::new();
        let read = self.reader(path)?.take(most as u64).read_to_end(&mut sample);
        read.map_err(|e| unreadable(path, e))?;
        Ok(sample)
    }

    /// The last `most` bytes.
    pub(super) fn ending(&self, path: &Path, most: usize) -> Result<Vec<u8>> {
        match self {
            Held::Memory(bytes) => Ok(bytes[bytes.len().saturating_sub(most)..].to_vec()),
            Held::Disk { skipped, len } => {
                let before = len.saturating_sub(most as u64);
                Held::Disk { skipped: skipped + before, len: len - before }.beginning(path, most)
            }
        }
    }

    /// All bytes, in memory, of which there is this much `room`.
    pub(super) fn in_memory(self, path: &Path, room: u64) -> Result<Vec<u8>> {
        let needed = self.len();
        match self {
            Held::Memory(bytes) => Ok(bytes),
            Held::Disk { .. } if needed <= room => {
                let mut bytes = Vec::new();
                bytes.reserve_exact(needed as usize);
                let read = self.reader(path)?.read_to_end(&mut bytes);
                read.map_err(|e| unreadable(path, e))?;
                Ok(bytes)
            }
            Held::Disk { .. } => Err(Error::Memory { needed, available: room }.into()),
        }
    }

    /// The hash of all bytes.
    pub(super) fn hash(&self, path: &Path) -> Result<blake3::Hash> {
        let mut hash = blake3::Hasher::new();
        hash.update_reader(self.reader(path)?).map_err(|e| unreadable(path, e))?;
        Ok(hash.finalize())
    }
}

/// A file that cannot be read.
pub(super) fn unreadable(path: &Path, e: io::Error) -> Error {
    Error::io(IoAction::Read, path, e)
}

/// A file that is not what is read here, and why.
pub(super) fn refused(path: &Path, why: Message) -> Error {
    unreadable(path, io::Error::other(why))
}

/// Whether this is standard input.
pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A file by its name.
pub(super) fn shown(path: &Path) -> Message {
    if is_stdin(path) { message!("standard input") } else { message!("'{}'", path.display()) }
}
