//! The log of a run, open at its end.

use crate::log::reopen::reopen;
use crate::log::row::{Format, Row};
use crate::log::sink::Sink;
use llm_core::base::{Message, memory};
use llm_core::{Error, IoAction, Result, message};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fmt, io};

/// Longest time that rows wait in memory, so that they can be watched.
const PATIENCE: Duration = Duration::from_secs(1);
/// Most bytes of rows that wait in memory.
const MOST_WAITING: usize = 1 << 16;

/// The log of a run, open at its end.
pub struct RunLog {
    dir: PathBuf,
    files: Vec<Sink>,
    /// The last row, held back until it is known whether a validation loss belongs to it.
    held: Option<Row>,
    /// Step of the next row.
    next: u64,
    /// Tokens of all steps so far as the log has them; `None` when it has no row.
    pub tokens: Option<u64>,
    /// What the user should know about the log that was there.
    pub notes: Vec<Message>,
    /// Writing failed, and that was said.
    failed: bool,
    looked: Instant,
    /// Memory of the process in bytes, looked up about once a second: asking the system takes longer
    /// than writing a row.
    pub memory: u64,
}

impl fmt::Debug for RunLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunLog").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl RunLog {
    /// Opens the log in the folder `dir` of a run that has done `done` steps (0: a new run). Rows
    /// of later steps are taken away, and so is half a row that a kill left at the end. A log
    /// that cannot be continued, because its rows have gaps or are invalid, is moved aside to
    /// `NAME.old-N`, see [`RunLog::notes`].
    ///
    /// # Errors
    /// [`Error::Io`] with the path: nothing was trained yet, so to the shell it is an output that
    /// cannot be created.
    pub fn open(dir: &Path, done: u64) -> Result<RunLog> {
        let (mut files, mut notes, mut tokens) = (Vec::new(), Vec::new(), None);
        for format in Format::ALL {
            let path = dir.join(format.file_name());
            let failed = |source| Error::io(IoAction::Create, &path, source);
            let (last, note) = reopen(dir, format, done).map_err(failed)?;
            notes.extend(note);
            tokens = tokens.or(last.map(|row| row.tokens));
            files.push(Sink::open(dir, format).map_err(failed)?);
        }
        let (next, memory) = (done.saturating_add(1), memory::resident());
        let (dir, looked) = (dir.to_path_buf(), Instant::now());
        Ok(RunLog { dir, files, held: None, next, tokens, notes, failed: false, looked, memory })
    }

    /// The folder has another name now: the open files went along, and nothing written to them is
    /// lost. A failure caused by that is cleared.
    pub fn moved_to(&mut self, dir: &Path) {
        self.files.iter_mut().for_each(|file| file.moved_to(dir));
        (self.dir, self.failed) = (dir.to_path_buf(), false);
    }

    /// Whether it is still where it was opened.
    pub fn exists(&self) -> bool {
        self.files.iter().all(|file| file.path.exists())
    }

    /// Adds the row of the next step.
    ///
    /// # Errors
    /// [`Error::Io`] with the path when writing failed, or when the row is of another step than
    /// the next. It is returned once: from then on the log takes rows and writes none. What was
    /// written before stays whole.
    pub fn row(&mut self, row: Row) -> Result<()> {
        self.unless_failed(|log| {
            if row.step != log.next {
                let why = message!("a row of step {} where step {} is due", row.step, log.next);
                return Err(Error::io(IoAction::Write, &log.dir, io::Error::other(why)));
            }
            log.release()?;
            (log.held, log.tokens, log.next) = (Some(row), Some(row.tokens), row.step + 1);
            let waiting = log.files.iter().map(Sink::waiting).max().unwrap_or(0);
            if log.looked.elapsed() >= PATIENCE || waiting >= MOST_WAITING {
                (log.looked, log.memory) = (Instant::now(), memory::resident());
                return log.each(|file| file.flush(false));
            }
            Ok(())
        })
    }

    /// A measurement on unseen data after `step`. It lands in the row of that step, if that is the
    /// last one and was not flushed yet.
    pub fn val_loss(&mut self, step: u64, loss: f64) {
        if let Some(row) = self.held.as_mut().filter(|row| row.step == step) {
            row.val_loss = Some(loss);
        }
    }

    /// Writes all rows, and with `sync` waits until they are on the disk. To be called before each
    /// checkpoint is saved.
    ///
    /// # Errors
    /// As [`RunLog::row`].
    pub fn flush(&mut self, sync: bool) -> Result<()> {
        self.unless_failed(|log| {
            log.release()?;
            log.each(|file| file.flush(sync))
        })
    }

    /// Nothing more can be said about the row that was held back.
    fn release(&mut self) -> Result<()> {
        let Some(row) = self.held.take() else { return Ok(()) };
        self.each(|file| file.push(&row))
    }

    fn each(&mut self, mut f: impl FnMut(&mut Sink) -> io::Result<()>) -> Result<()> {
        self.files
            .iter_mut()
            .try_for_each(|file| f(file).map_err(|e| Error::io(IoAction::Write, &file.path, e)))
    }

    fn unless_failed(&mut self, f: impl FnOnce(&mut RunLog) -> Result<()>) -> Result<()> {
        if self.failed {
            return Ok(());
        }
        let done = f(self);
        self.failed = done.is_err();
        done
    }
}

impl Drop for RunLog {
    /// However a run ends, its last steps are in the log.
    fn drop(&mut self) {
        let _ = self.flush(false);
    }
}
