//! Files too large for memory: read at a place, when a batch or a window needs it.

use crate::base::{Error, IoAction, Message, Result};
use crate::message;
use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// The bytes of several files as one sequence, of which nothing is kept in memory.
///
/// A file that is shorter, longer or newer than when it was opened is an error at the next read:
/// what a run learns is what it was started with, or nothing.
#[derive(Debug)]
pub struct ByteFiles {
    parts: Vec<Part>,
}

/// Bytes of a file in the sequence.
#[derive(Clone, Debug)]
struct Part {
    path: PathBuf,
    file: Arc<File>,
    /// Bytes of the whole file, and those before the part.
    file_len: u64,
    skipped: u64,
    /// Place of the part's first byte in the sequence, and the place after its last.
    start: usize,
    end: usize,
    modified: Option<SystemTime>,
}

impl ByteFiles {
    /// Opens regular files, to be read in this order.
    ///
    /// # Errors
    /// [`Error::Io`] naming the one that cannot be opened, or is no regular file.
    pub fn open(paths: &[impl AsRef<Path>]) -> Result<ByteFiles> {
        let whole: Vec<_> = paths.iter().map(|path| (path, 0)).collect();
        ByteFiles::open_after(&whole)
    }

    /// Opens regular files, skipping the given number of bytes at the beginning of each.
    ///
    /// # Errors
    /// As [`ByteFiles::open`]; also when a file has fewer bytes than are to be left out.
    pub fn open_after(paths: &[(impl AsRef<Path>, u64)]) -> Result<ByteFiles> {
        let mut parts: Vec<Part> = Vec::with_capacity(paths.len());
        for (path, skipped) in paths {
            let path = path.as_ref();
            let start = parts.last().map_or(0, |p| p.end);
            let part = Part::open(path, *skipped, start);
            parts.push(part.map_err(|e| Error::io(IoAction::Read, path, e))?);
        }
        Ok(ByteFiles { parts })
    }

    /// Some of the bytes as a sequence of their own; what of a range is beyond the last is left out.
    pub fn select(&self, ranges: &[Range<usize>]) -> ByteFiles {
        let mut parts: Vec<Part> = Vec::new();
        for range in ranges {
            let first = self.parts.partition_point(|part| part.end <= range.start);
            for part in self.parts[first..].iter().take_while(|part| part.start < range.end) {
                let (from, to) = (range.start.max(part.start), range.end.min(part.end));
                if from < to {
                    let start = parts.last().map_or(0, |p| p.end);
                    let skipped = part.skipped + (from - part.start) as u64;
                    parts.push(Part { skipped, start, end: start + (to - from), ..part.clone() });
                }
            }
        }
        ByteFiles { parts }
    }

    /// Bytes in all.
    pub fn len(&self) -> usize {
        self.parts.last().map_or(0, |p| p.end)
    }

    /// Whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// `out` becomes the bytes from `start` on.
    ///
    /// # Errors
    /// [`Error::Io`] naming the file that cannot be read, or has changed since it was opened;
    /// also when there are fewer bytes.
    pub fn read(&self, start: usize, out: &mut [u8]) -> Result<()> {
        let (mut place, mut out) = (start, out);
        let first = self.parts.partition_point(|p| p.end <= start);
        for part in &self.parts[first..] {
            let (now, later) = out.split_at_mut(out.len().min(part.end - place));
            if !now.is_empty() {
                let read = part.read(place - part.start, now);
                read.map_err(|e| Error::io(IoAction::GoOnReading, &part.path, e))?;
            }
            (place, out) = (part.end, later);
        }
        match (out.is_empty(), self.parts.last()) {
            (true, _) | (_, None) => Ok(()),
            (false, Some(part)) => {
                let end = io::ErrorKind::UnexpectedEof.into();
                Err(Error::io(IoAction::GoOnReading, &part.path, end))
            }
        }
    }

    /// BLAKE3 of all bytes, read once from the first to the last.
    ///
    /// # Errors
    /// As [`ByteFiles::read`].
    pub fn blake3(&self) -> Result<[u8; 32]> {
        let mut hash = blake3::Hasher::new();
        let mut chunk = vec![0; 1 << 20];
        let mut place = 0;
        while place < self.len() {
            let bytes = chunk.len().min(self.len() - place);
            self.read(place, &mut chunk[..bytes])?;
            hash.update(&chunk[..bytes]);
            place += bytes;
        }
        Ok(hash.finalize().into())
    }
}

impl Part {
    fn open(path: &Path, skipped: u64, start: usize) -> io::Result<Part> {
        // Asked by name first: opening a pipe would wait for a writer.
        unless(std::fs::metadata(path)?.is_file(), || message!("it is not a regular file"))?;
        let file = File::open(path)?;
        let meta = file.metadata()?;
        let file_len = meta.len();
        let len = file_len.checked_sub(skipped).ok_or(io::ErrorKind::UnexpectedEof)?;
        let end = usize::try_from(len).ok().and_then(|len| start.checked_add(len));
        let large = || io::Error::other(message!("it is too large for this machine"));
        let end = end.ok_or_else(large)?;
        let (path, file, modified) = (path.into(), Arc::new(file), meta.modified().ok());
        Ok(Part { path, file, file_len, skipped, start, end, modified })
    }

    /// Reads at a place in the file, then asks whether it is still the same.
    fn read(&self, place: usize, out: &mut [u8]) -> io::Result<()> {
        let read = read_exact_at(&self.file, out, self.skipped + place as u64);
        self.check(&self.file.metadata()?)?;
        read
    }

    fn check(&self, now: &Metadata) -> io::Result<()> {
        let (then, len) = (self.file_len, now.len());
        let why = || message!("it had {} bytes when it was opened and has {} now", then, len);
        unless(len == then, why)?;
        let is_same = now.modified().ok() == self.modified;
        unless(is_same, || message!("it was written to after it was opened"))
    }
}

/// An error of the file with this reason unless a condition on it holds.
fn unless(holds: bool, why: impl FnOnce() -> Message) -> io::Result<()> {
    if holds { Ok(()) } else { Err(io::Error::other(why())) }
}

#[cfg(unix)]
fn read_exact_at(file: &File, out: &mut [u8], place: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, out, place)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut out: &mut [u8], mut place: u64) -> io::Result<()> {
    while !out.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, out, place)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => (out, place) = (&mut out[n..], place + n as u64),
        }
    }
    Ok(())
}

/// Where no system reads at a place: the place is set, then read from. One thread does it there.
#[cfg(not(any(unix, windows)))]
fn read_exact_at(mut file: &File, out: &mut [u8], place: u64) -> io::Result<()> {
    io::Seek::seek(&mut file, io::SeekFrom::Start(place))?;
    io::Read::read_exact(&mut file, out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn folder(files: &[(&str, &[u8])]) -> (tempfile::TempDir, Vec<PathBuf>) {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<_> = files.iter().map(|(name, _)| folder.path().join(name)).collect();
        for (path, (_, bytes)) in paths.iter().zip(files) {
            std::fs::write(path, bytes).unwrap();
        }
        (folder, paths)
    }

    fn read(files: &ByteFiles, start: usize, len: usize) -> Result<Vec<u8>> {
        let mut out = vec![0; len];
        files.read(start, &mut out).map(|()| out)
    }

    #[test]
    fn several_files_are_one_sequence() {
        let (_folder, paths) = folder(&[("a", b"one"), ("b", b""), ("c", b"two and"), ("d", b"!")]);
        let files = ByteFiles::open(&paths).unwrap();
        let all = b"onetwo and!";
        assert_eq!(files.len(), all.len());
        for start in 0..=all.len() {
            for end in start..=all.len() {
                assert_eq!(read(&files, start, end - start).unwrap(), all[start..end]);
            }
            assert!(read(&files, start, all.len() - start + 1).is_err());
        }
        assert!(read(&files, 99, 1).is_err());
        assert_eq!(files.blake3().unwrap(), *blake3::hash(all).as_bytes());
        let without = |skipped: [u64; 4]| {
            ByteFiles::open_after(&[
                (&paths[0], skipped[0]),
                (&paths[1], skipped[1]),
                (&paths[2], skipped[2]),
                (&paths[3], skipped[3]),
            ])
        };
        let files = without([3, 0, 4, 0]).unwrap();
        assert_eq!(read(&files, 0, files.len()).unwrap(), b"and!");
        assert!(without([0, 1, 0, 0]).is_err());
    }

    #[test]
    fn what_cannot_be_opened_is_named() {
        let (folder, mut paths) = folder(&[("a", b"one")]);
        for bad in [folder.path().to_path_buf(), folder.path().join("missing")] {
            paths.push(bad.clone());
            match ByteFiles::open(&paths) {
                Err(Error::Io { action: IoAction::Read, path, .. }) => assert_eq!(path, bad),
                other => panic!("{other:?}"),
            }
            paths.pop();
        }
    }

    #[test]
    fn a_file_that_changes_is_an_error_that_names_it() {
        let grown = |file: &File| file.set_len(9);
        let cut = |file: &File| file.set_len(1);
        let later = |file: &File| file.set_modified(SystemTime::now() + Duration::from_secs(9));
        type Change<'a> = &'a dyn Fn(&File) -> io::Result<()>;
        let changes: [(Change<'_>, &str); 3] =
            [(&grown, "9 now"), (&cut, "1 now"), (&later, "written to")];
        for (change, why) in changes {
            let (_folder, paths) = folder(&[("a", b"one"), ("b", b"two")]);
            let files = ByteFiles::open(&paths).unwrap();
            assert_eq!(read(&files, 2, 2).unwrap(), b"et");
            change(&File::options().write(true).open(&paths[1]).unwrap()).unwrap();
            assert_eq!(read(&files, 0, 3).unwrap(), b"one");
            match read(&files, 2, 2) {
                Err(Error::Io { action: IoAction::GoOnReading, path, source }) => {
                    assert_eq!(path, paths[1]);
                    assert!(source.to_string().contains(why), "{source}");
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn places_beyond_two_gibibytes() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(3 << 30).unwrap(); // a hole: it takes no room on the disk
        let files = ByteFiles::open(&[file.path()]).unwrap();
        assert_eq!(files.len(), 3 << 30);
        assert_eq!(read(&files, (3 << 30) - 4, 4).unwrap(), [0; 4]);
        assert!(read(&files, (3 << 30) - 4, 5).is_err());
    }
}
