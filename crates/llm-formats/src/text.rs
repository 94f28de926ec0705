//! Where a text is, and reading parts of it.

use llm_core::Result;
use llm_core::data::ByteFiles;
use std::borrow::Cow;

/// A large text is sampled in so many places.
const PLACES: usize = 64;

/// Bytes in memory, or in files.
#[derive(Debug)]
pub enum Text {
    /// All of it.
    Memory(Vec<u8>),
    /// Too large for that.
    Disk(ByteFiles),
}

impl Text {
    /// Bytes in all.
    pub fn len(&self) -> usize {
        match self {
            Text::Memory(bytes) => bytes.len(),
            Text::Disk(files) => files.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// At most `len` bytes from `start` on.
    ///
    /// # Errors
    /// [`Error::Io`](llm_core::Error::Io) naming the file.
    pub fn read(&self, start: usize, len: usize) -> Result<Cow<'_, [u8]>> {
        let end = start.saturating_add(len).min(self.len());
        match self {
            Text::Memory(bytes) => Ok(Cow::Borrowed(bytes.get(start..end).unwrap_or_default())),
            Text::Disk(files) => {
                let mut part = vec![0; end.saturating_sub(start)];
                files.read(start, &mut part)?;
                Ok(Cow::Owned(part))
            }
        }
    }

    /// The first `end` bytes, or evenly spaced parts of them that are `most` bytes together.
    ///
    /// # Errors
    /// [`Error::Io`](llm_core::Error::Io) naming the file.
    pub fn sample(&self, end: usize, most: usize) -> Result<Cow<'_, [u8]>> {
        if end <= most {
            return self.read(0, end);
        }
        let part = most / PLACES;
        let mut sample = Vec::with_capacity(part * PLACES);
        for i in 0..PLACES {
            let start = (i as u128 * (end - part) as u128 / (PLACES - 1) as u128) as usize;
            sample.extend_from_slice(&self.read(start, part)?);
        }
        Ok(Cow::Owned(sample))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_from_everywhere() {
        let bytes: Vec<u8> = (0..6400).map(|i| (i / 64) as u8).collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &bytes).unwrap();
        let disk = Text::Disk(ByteFiles::open(&[file.path()]).unwrap());
        for text in [Text::Memory(bytes.clone()), disk] {
            assert_eq!(text.sample(6400, 6400).unwrap(), bytes);
            assert_eq!(text.sample(10, 64).unwrap(), &bytes[..10]);
            let sample = text.sample(6400, 640).unwrap();
            assert_eq!((sample.len(), sample[0], sample[639]), (640, 0, 99));
            assert!(sample.is_sorted());
            assert_eq!(text.sample(3200, 640).unwrap()[639], 49);
            assert_eq!(text.read(6390, 100).unwrap(), &bytes[6390..]);
        }
    }
}
