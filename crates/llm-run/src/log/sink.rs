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
            // What fitted in may be half a row: a full disk still lets a file be shortened.
            let _ = self.file.set_len(self.good);
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
}
