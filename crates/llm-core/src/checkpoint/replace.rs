//! Replacing a file so that its path always holds the complete old or the complete new one.
//!
//! A temporary file beside the target takes the new content and reaches the disk (fsync) before a
//! rename puts it in place; the directory reaches the disk after it. Whatever interrupts this
//! leaves the old file as it was and at most a temporary one, which [`sweep_stale`] knows by name.

use super::files::{Disk, Files, RANDOM};
use crate::error::{Error, Result};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// As many links as Linux follows.
const MAX_LINKS: usize = 40;

/// A file name this long leaves no room for what a temporary file's name adds (most systems allow
/// 255 bytes).
const LONG_NAME: usize = 200;

/// Can a checkpoint be saved at `path`? Tries it with an empty temporary file, so that a long run
/// need not end to find out.
///
/// # Errors
/// [`Error::Io`] with the reason.
pub fn check_writable(path: &Path) -> Result<()> {
    let attempt = || Disk.create(&Target::of(path)?).map(drop);
    attempt().map_err(|source| Error::Io { action: "create", path: path.into(), source })
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
pub(super) fn replace<F: Files>(
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

/// Where a file is to be put, links followed.
pub(super) struct Target {
    pub(super) directory: PathBuf,
    pub(super) name: OsString,
    /// That of the file that is there already.
    pub(super) mode: Option<fs::Permissions>,
}

impl Target {
    pub(super) fn of(path: &Path) -> io::Result<Target> {
        let path = follow_links(path)?;
        let mode = match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            // A rename would put a file in the place of a device or pipe.
            Ok(metadata) if !metadata.is_file() => return Err(invalid("not a regular file")),
            Ok(metadata) => Some(metadata.permissions()),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        // `file_name` overlooks a slash at the end, which asks for a directory.
        let slash = path.as_os_str().as_encoded_bytes().last().is_some_and(|&b| b == b'/');
        let name = path.file_name().filter(|_| !slash).ok_or_else(|| invalid("not a file name"))?;
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
        let directory = fs::canonicalize(parent.unwrap_or(Path::new(".")))?;
        Ok(Target { directory, name: name.into(), mode })
    }

    /// The whole path.
    pub(super) fn path(&self) -> PathBuf {
        self.directory.join(&self.name)
    }

    /// What the names of its temporary files begin with.
    pub(super) fn prefix(&self) -> OsString {
        let mut prefix = OsString::from(".");
        if self.name.len() > LONG_NAME {
            prefix.push(&blake3::hash(self.name.as_encoded_bytes()).to_hex()[..32]);
        } else {
            prefix.push(&self.name);
        }
        prefix.push(OsStr::new(".tmp-"));
        prefix
    }

    /// Is this the name of one of its temporary files?
    pub(super) fn is_leftover(&self, name: &OsStr) -> bool {
        let prefix = self.prefix();
        let rest = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes());
        rest.is_some_and(|r| r.len() == RANDOM && r.iter().all(u8::is_ascii_alphanumeric))
    }
}

fn invalid(reason: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, reason)
}

/// The path at the end of the links, whether or not something is there.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        let Ok(link) = fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("")).join(link);
    }
    Err(invalid("too many symbolic links"))
}
