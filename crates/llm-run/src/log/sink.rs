//! One file that rows are appended to.

use crate::log::row::{Format, Row};
use llm_core::message;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(crate) struct Sink {
    pub path: PathBuf,
    format: Format,
    file: File,
    /// Whole rows, not written yet.
    pending: Vec<u8>,
    /// Length of the file up to the last row that is in it completely.
    good: u64,
}

impl Sink {
    /// The file must be there, and hold whole rows.
    pub fn open(dir: &Path, format: Format) -> io::Result<Sink> {
        let path = dir.join(format.file_name());
        let file = File::options().append(true).open(&path)?;
        let good = file.metadata()?.len();
        Ok(Sink { path, format, file, pending: Vec::new(), good })
    }

    /// The open file is in this folder now.
    pub fn moved_to(&mut self, dir: &Path) {
        self.path = dir.join(self.format.file_name());
    }

    /// Takes a row.
    pub fn push(&mut self, row: &Row) -> io::Result<()> {
        self.format.encode(row, &mut self.pending)
    }

    /// Bytes that wait.
    pub fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// Hands all rows to the system, and on to the disk if `sync`.
    pub fn flush(&mut self, sync: bool) -> io::Result<()> {
        if let Err(e) = self.file.write_all(&self.pending) {
            let _ = self.cut();
            return Err(e);
        }
        self.good += self.pending.len() as u64;
        self.pending.clear();
        // A file that was removed can be written to for ever, unnoticed.
        if !self.path.try_exists()? {
            return Err(io::Error::new(io::ErrorKind::NotFound, message!("the file was removed")));
        }
        if sync { self.file.sync_data() } else { Ok(()) }
    }

    /// Takes away what stands after the whole rows, half a row perhaps: a full disk still lets a file
    /// be shortened. Windows does not where it is open for appending alone.
    fn cut(&self) -> io::Result<()> {
        let again = || File::options().write(true).open(&self.path);
        self.file.set_len(self.good).or_else(|_| again()?.set_len(self.good))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_row_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(Format::Jsonl.file_name());
        std::fs::write(&path, "whole\n").unwrap();
        let mut sink = Sink::open(folder.path(), Format::Jsonl).unwrap();
        sink.file.write_all(b"ha").unwrap();
        sink.cut().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole\n");
        sink.pending = b"next\n".to_vec();
        sink.flush(true).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole\nnext\n");
    }
}
