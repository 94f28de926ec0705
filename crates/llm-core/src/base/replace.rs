//! Replacing a file so that its path always holds the complete old or the complete new one.
//!
//! A temporary file next to the target takes the new content and reaches the disk (fsync) before a
//! rename puts it in place; the directory reaches the disk after it. Whatever interrupts this
//! leaves the old file as it was and at most a temporary one, which [`sweep_stale`] knows by name.

use super::error::{Error, Result};
use super::file_calls::{Disk, Files};
use super::io_action::IoAction;
use super::target::Target;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Checks that a file can be saved at `path`. Tries it with an empty temporary file, so that a long
/// run need not end to find out.
///
/// # Errors
/// [`Error::Io`] with the reason.
pub fn check_writable(path: &Path) -> Result<()> {
    let attempt = || Disk.create(&Target::of(path)?).map(drop);
    attempt().map_err(|e| Error::io(IoAction::Create, path, e))
}

/// The file that `path` means, links followed; `path` itself when they lead nowhere.
pub fn real_path(path: &Path) -> PathBuf {
    Target::of(path).map_or_else(|_| path.into(), |target| target.path())
}

/// Removes what killed saves to `path` left behind and says how many files that were. Only for who
/// holds the lock of `path`: the file of a save in progress looks the same.
pub fn sweep_stale(path: &Path) -> usize {
    leftovers(path).into_iter().filter(|e| fs::remove_file(e.path()).is_ok()).count()
}

/// A temporary file not written to for this long is no save in progress.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// Removes what killed saves to `path` left behind an hour ago or earlier.
fn sweep_abandoned(path: &Path) {
    let is_old = |entry: &fs::DirEntry| {
        let modified = entry.metadata().and_then(|meta| meta.modified());
        modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > ABANDONED))
    };
    for leftover in leftovers(path).into_iter().filter(is_old) {
        let _ = fs::remove_file(leftover.path()); // one that stays does no harm
    }
}

/// The temporary files of saves to `path`, in progress or killed.
fn leftovers(path: &Path) -> Vec<fs::DirEntry> {
    let Ok(target) = Target::of(path) else { return Vec::new() };
    let is_leftover = |entry: &fs::DirEntry| {
        target.is_leftover(&entry.file_name()) && entry.file_type().is_ok_and(|t| t.is_file())
    };
    let entries = fs::read_dir(&target.directory).into_iter().flatten().flatten();
    entries.filter(is_leftover).collect()
}

/// Gives any file the content that `write` writes, as a checkpoint is saved: whatever interrupts
/// it, `path` holds the complete old or the complete new file. What saves that were killed an hour
/// ago or earlier have left next to it is removed.
///
/// # Errors
/// What the system says; the old file then stays.
pub fn replace_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    sweep_abandoned(path);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_killed_saves_left_goes_with_a_later_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        let prefix = Target::of(&path).unwrap();
        let kept = ["other", ".page.html.tmp", ".page.html.tmp-toolong0"];
        let old = [".page.html.tmp-abcdef", ".page.html.tmp-ABC123"];
        let young = ".page.html.tmp-zzzzzz";
        for name in kept.iter().chain(&old).chain([&young]) {
            let file = fs::File::create(folder.path().join(name)).unwrap();
            let age = if *name == young { ABANDONED / 2 } else { ABANDONED * 2 };
            file.set_modified(std::time::SystemTime::now() - age).unwrap();
            assert_eq!(prefix.is_leftover(name.as_ref()), !kept.contains(name), "{name}");
        }
        replace_file(&path, |out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let is_there = |name: &&str| folder.path().join(name).exists();
        assert!(kept.iter().all(is_there) && is_there(&young) && !old.iter().any(is_there));
        assert_eq!(sweep_stale(&path), 1);
        assert!(!is_there(&young));
    }
}
