//! A file that is read from its begin to its end, with how much of it is left, and how much memory
//! may be taken for what it says of itself.

use crate::error::{FormatError, Result, refuse, too_short};
use llm_core::message;
use std::io::{self, Read};

/// Bytes of memory for all names and values before the tensors: a vocabulary of 150,000 tokens
/// takes a third of it.
pub(super) const MAX_MEMORY: u64 = 64 << 20;

/// A file of known length.
#[derive(Debug)]
pub(super) struct Input<R> {
    reader: R,
    /// Bytes read.
    pub(super) position: u64,
    /// Bytes that follow.
    pub(super) left: u64,
    /// Bytes of memory that may still be taken.
    memory: u64,
}

impl<R: Read> Input<R> {
    pub(super) fn new(reader: R, length: u64) -> Input<R> {
        Input { reader, position: 0, left: length, memory: MAX_MEMORY }
    }

    /// `Err` unless at least `bytes` bytes follow.
    pub(super) fn has(&self, bytes: u64) -> Result<()> {
        if bytes <= self.left { Ok(()) } else { Err(too_short()) }
    }

    /// Takes `bytes` bytes of memory, from what there is for names and values.
    pub(super) fn keep(&mut self, bytes: u64) -> Result<()> {
        let left = self.memory.checked_sub(bytes).ok_or_else(|| {
            let mib = MAX_MEMORY >> 20;
            FormatError::content(message!("names and values take more than {} MiB", mib))
        })?;
        self.memory = left;
        Ok(())
    }

    pub(super) fn fill(&mut self, bytes: &mut [u8]) -> Result<()> {
        let count = bytes.len() as u64;
        self.has(count)?;
        self.reader.read_exact(bytes)?;
        (self.position, self.left) = (self.position + count, self.left - count);
        Ok(())
    }

    /// Skips `bytes` bytes.
    pub(super) fn skip(&mut self, bytes: u64) -> Result<()> {
        self.has(bytes)?;
        let skipped = io::copy(&mut (&mut self.reader).take(bytes), &mut io::sink())?;
        (self.position, self.left) = (self.position + skipped, self.left - skipped);
        if skipped == bytes { Ok(()) } else { Err(too_short()) }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A length and that number of bytes of UTF-8, at most `most` of them.
    pub(super) fn text(&mut self, most: u64) -> Result<String> {
        let length = self.u64()?;
        if length > most {
            return refuse(message!("a text of {} bytes, the limit is {}", length, most));
        }
        self.has(length)?;
        self.keep(length)?;
        let mut bytes = vec![0; length as usize];
        self.fill(&mut bytes)?;
        String::from_utf8(bytes).or_else(|_| refuse(message!("a text that is no UTF-8")))
    }
}
