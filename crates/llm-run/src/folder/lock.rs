//! A file that says which process writes the one next to it.

use super::names::cannot_create;
use crate::error::{Result, RunError};
use crate::log::suffixed;
use llm_core::base::real_path;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

/// `<file>.lock`, held. It goes with the process, however that ends; the file may stay.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    /// Takes the lock of the file that `path` means, by whatever links that is reached.
    ///
    /// # Errors
    /// [`RunError::Busy`]; [`RunError::Create`] when it cannot be made.
    pub(super) fn take(path: &Path) -> Result<Lock> {
        let lock = beside(path);
        loop {
            // To be read too: Windows locks no file that is open for appending alone.
            let file = File::options().read(true).append(true).create(true).open(&lock);
            let file = file.map_err(|e| cannot_create(path, &e))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(RunError::Busy { path: path.into() }),
                // A file system without locks: go on, as before there were any.
                Err(TryLockError::Error(_)) => return Ok(Lock { path: lock, file }),
            }
            // Its last owner may have removed it between our opening and locking.
            if is(&file, &lock) {
                return Ok(Lock { path: lock, file });
            }
        }
    }

    /// The file of the lock, if it came to lie next to `path`.
    pub(super) fn follow(&mut self, path: &Path) {
        let moved = beside(path);
        if is(&self.file, &moved) {
            self.path = moved;
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed while still locked; who opened it meanwhile sees that and tries again.
        if cfg!(any(unix, windows)) && is(&self.file, &self.path) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Whether a process holds the lock of the file that `path` means.
pub(super) fn is_held(path: &Path) -> bool {
    let file = File::open(beside(path));
    file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

fn beside(path: &Path) -> PathBuf {
    suffixed(&real_path(path), ".lock")
}

/// Whether this open file or folder is the one at `path`.
#[cfg(unix)]
pub(super) fn is(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |m: std::io::Result<std::fs::Metadata>| m.map(|m| (m.dev(), m.ino())).ok();
    let ours = id(file.metadata());
    ours.is_some() && ours == id(std::fs::metadata(path))
}

#[cfg(windows)]
pub(super) fn is(file: &File, path: &Path) -> bool {
    use same_file::Handle;
    let ours = file.try_clone().and_then(Handle::from_file);
    ours.is_ok_and(|ours| Handle::from_path(path).is_ok_and(|theirs| ours == theirs))
}

#[cfg(not(any(unix, windows)))]
pub(super) fn is(_: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the system refuses to lock what was opened, it is found here.
    #[test]
    fn a_lock_that_is_taken_is_held() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("last");
        assert!(!is_held(&path));
        let lock = Lock::take(&path).unwrap();
        assert!(is_held(&path));
        for _ in 0..2 {
            let second = Lock::take(&path);
            assert!(matches!(second, Err(RunError::Busy { .. })), "{second:?}");
        }
        drop(lock);
        assert!(!is_held(&path) && !beside(&path).exists());
        drop(Lock::take(&path).unwrap());
    }
}
