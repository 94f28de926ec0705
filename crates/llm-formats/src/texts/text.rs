//! Where a text is, and reading parts of it.

use llm_core::Result;
use llm_core::data::ByteFiles;
use std::borrow::Cow;
use std::ops::Range;

/// The number of places in which a large text is sampled.
const PLACES: usize = 64;

/// Bytes in memory, or in files.
#[derive(Debug)]
pub enum Text {
    /// All bytes, in memory.
    Memory(Vec<u8>),
    /// Files that are too large for memory.
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

    /// Whether it is empty.
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

    /// The ranges that are left without some, which rise and do not overlap.
    pub fn without(&self, taken: &[Range<usize>]) -> Vec<Range<usize>> {
        let starts = [0].into_iter().chain(taken.iter().map(|range| range.end));
        let ends = taken.iter().map(|range| range.start).chain([self.len()]);
        starts.zip(ends).map(|(start, end)| start..end).filter(|range| !range.is_empty()).collect()
    }

    /// Two texts: without the bytes in some ranges, which rise and do not overlap, and these alone.
    /// Of what is in memory no second copy is made.
    pub fn divide(self, taken: &[Range<usize>]) -> [Text; 2] {
        let rest = self.without(taken);
        match self {
            Text::Disk(files) => [&rest[..], taken].map(|ranges| Text::Disk(files.select(ranges))),
            Text::Memory(mut bytes) => {
                let own = taken.iter().flat_map(|range| &bytes[range.clone()]).copied().collect();
                let mut len = 0;
                for range in rest {
                    bytes.copy_within(range.clone(), len);
                    len += range.len();
                }
                bytes.truncate(len);
                [Text::Memory(bytes), Text::Memory(own)]
            }
        }
    }

    /// The bytes of some ranges, which rise and do not overlap, or evenly spaced parts of them that
    /// are `most` bytes together.
    ///
    /// # Errors
    /// [`Error::Io`](llm_core::Error::Io) naming the file.
    pub fn sample(&self, ranges: &[Range<usize>], most: usize) -> Result<Cow<'_, [u8]>> {
        let len = ranges.iter().map(Range::len).sum();
        let (places, part) = if len <= most { (1, len) } else { (PLACES, most / PLACES) };
        if let [one] = ranges
            && places == 1
        {
            return self.read(one.start, len);
        }
        let mut sample = Vec::with_capacity(part * places);
        for i in 0..places {
            let mut skip = (i as u128 * (len - part) as u128 / (PLACES - 1) as u128) as usize;
            let mut wanted = part;
            for range in ranges {
                let start = range.start + skip.min(range.len());
                let now = wanted.min(range.end - start);
                if now > 0 {
                    sample.extend_from_slice(&self.read(start, now)?);
                }
                skip = skip.saturating_sub(range.len());
                wanted -= now;
            }
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
            let beginning = |end, most| text.sample(std::slice::from_ref(&(0..end)), most).unwrap();
            assert_eq!(beginning(6400, 6400), bytes);
            assert_eq!(beginning(10, 64), &bytes[..10]);
            assert_eq!(text.sample(&[0..1, 64..65], 64).unwrap(), &[0, 1][..]);
            assert!(text.sample(&[], 64).unwrap().is_empty());
            let sample = beginning(6400, 640);
            assert_eq!((sample.len(), sample[0], sample[639]), (640, 0, 99));
            assert!(sample.is_sorted());
            assert_eq!(beginning(3200, 640)[639], 49);
            let two = text.sample(&[0..640, 3200..6400], 640).unwrap();
            assert_eq!((two.len(), two[0], two[639]), (640, 0, 99));
            assert!(two.is_sorted() && !two.contains(&10) && !two.contains(&49));
            assert_eq!(text.read(6390, 100).unwrap(), &bytes[6390..]);
        }
    }

    #[test]
    fn a_text_is_divided_in_order() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"0123456789").unwrap();
        for (taken, left, own) in [
            (&[2..4, 4..5, 9..10][..], &b"015678"[..], &b"2349"[..]),
            (&[0..5, 5..10], b"", b"0123456789"),
            (&[], b"0123456789", b""),
        ] {
            let disk = Text::Disk(ByteFiles::open(&[file.path()]).unwrap());
            for text in [Text::Memory(b"0123456789".to_vec()), disk] {
                let parts = text.divide(taken);
                let parts = parts.each_ref().map(|part| part.read(0, 10).unwrap().into_owned());
                assert_eq!(parts, [left, own]);
            }
        }
    }
}
