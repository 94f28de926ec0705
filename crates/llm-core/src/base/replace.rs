//! Replacing a file so that its path always holds the complete old or the complete new one.
//!
//! A temporary file beside the target takes the new content and reaches the disk (fsync) before a
//! rename puts it in place; the directory reaches the disk after it. Whatever interrupts this
//! leaves the old file as it was and at most a temporary one, which [`sweep_stale`] knows by name.

use super::error::{Error, Result};
use super::file_calls::{Disk, Files};
use super::io_action::IoAction;
use super::target::Target;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Can a file be saved at `path`? Tries it with an empty temporary file, so that a long run
/// need not end to find out.
///
/// # Errors
/// [`Error::Io`] with the reason.
pub fn check_writable(path: &Path) -> Result<()> {
    let attempt = || Disk.create(&Target::of(path)?).map(drop);
    attempt().map_err(|source| Error::Io { action: IoAction::Create, path: path.into(), source })
}

/// The file that `path` means, links followed; `path` itself when they lead nowhere.
pub fn real_path(path: &Path) -> PathBuf {
    Target::of(path).map_or_else(|_| path.into(), |target| target.path())
}

/// Removes what killed saves to `path` left behind and says how many files that were. Only for who
/// holds the lock of `path`: the file of a save in progress looks the same.
pub fn sweep_stale(path: &Path) -> usize {
    let Ok(target) = Target::of(path) else { return 0 };
    let stale = |entry: &fs::DirEntry| {
        target.is_leftover(&entry.file_name()) && entry.file_type().is_ok_and(|t| t.is_file())
    };
    let Ok(entries) = fs::read_dir(&target.directory) else { return 0 };
    entries.flatten().filter(stale).filter(|e| fs::remove_file(e.path()).is_ok()).count()
}

/// Gives any file the content that `write` writes, as a checkpoint is saved: whatever interrupts
/// it, `path` holds the complete old or the complete new file.
///
/// # Errors
/// What the system says; the old file then stays.
pub fn replace_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    replace(&Disk, path, write)
}

/// [`replace_file`] on any file system. On an error the old file stays, and no other; when the
/// folder's sync is what failed, the complete new one may be there already.
pub(crate) fn replace<F: Files>(
    files: &F,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let target = files.find(path)?;
    // Opened first: when it cannot be, nothing has happened yet.
    let directory = files.open_directory(&target)?;
    let mut out = BufWriter::with_capacity(1 << 16, files.create(&target)?);
    write(&mut out)?;
    let temporary = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    files.take_over_mode(&temporary, &target)?;
    files.sync(&temporary)?;
    files.rename(temporary, &target)?;
    files.sync_directory(&directory)
}
