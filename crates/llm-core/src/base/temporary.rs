//! A file next to another one, whose place it will take or which it leaves alone.

use super::patience::patiently;
use super::target::RANDOM;
use crate::message;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The number of names tried: one is taken once in 62⁶ times, unless they are taken on purpose.
const ATTEMPTS: usize = 1 << 10;

/// A new file; dropping it removes it.
#[derive(Debug)]
pub(crate) struct TemporaryFile {
    file: File,
    /// `None`: it has its place.
    path: Option<PathBuf>,
}

impl TemporaryFile {
    /// Makes one in `directory`, its name `prefix` and [`RANDOM`] letters and digits. On Unix with
    /// this mode, or the one that the umask leaves.
    pub(crate) fn create(
        directory: &Path,
        prefix: &OsStr,
        mode: Option<&Permissions>,
    ) -> io::Result<TemporaryFile> {
        create_as(directory, prefix, mode, (0..ATTEMPTS).map(|_| random_letters()))
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Puts it in the place of `target`, in the same folder. If another program holds that, it is tried
    /// again for a while.
    pub(crate) fn rename(mut self, target: &Path) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        patiently(|| fs::rename(path, target))?;
        self.path = None;
        Ok(())
    }
}

impl Write for TemporaryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // What cannot be removed is known by its name, and removed by a later save.
            let _ = fs::remove_file(path);
        }
    }
}

fn create_as(
    directory: &Path,
    prefix: &OsStr,
    mode: Option<&Permissions>,
    endings: impl Iterator<Item = String>,
) -> io::Result<TemporaryFile> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        options.mode(mode.map_or(0o666, PermissionsExt::mode));
    }
    #[cfg(not(unix))]
    let _ = mode;
    for ending in endings {
        let mut name = prefix.to_os_string();
        name.push(ending);
        let path = directory.join(name);
        match options.open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| TemporaryFile { file, path: Some(path) }),
        }
    }
    let taken = message!("every name tried for a temporary file is taken");
    Err(io::Error::new(ErrorKind::AlreadyExists, taken))
}

/// Other ones at every call and in every process.
fn random_letters() -> String {
    const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut bits = RandomState::new().hash_one(()); // keyed by the system's random numbers
    let mut letter = || {
        let letter = LETTERS[(bits % 62) as usize];
        bits /= 62;
        char::from(letter)
    };
    (0..RANDOM).map(|_| letter()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn it_goes_when_dropped_and_stays_when_renamed() {
        let folder = tempfile::tempdir().unwrap();
        let create = || TemporaryFile::create(folder.path(), OsStr::new(".a.tmp-"), None).unwrap();
        let mut file = create();
        file.write_all(b"new").unwrap();
        let seen = names(folder.path());
        let ending = seen[0].strip_prefix(".a.tmp-").unwrap();
        assert!(ending.len() == RANDOM && ending.bytes().all(|b| b.is_ascii_alphanumeric()));

        let target = folder.path().join("a");
        fs::write(&target, "old").unwrap();
        drop(create());
        file.rename(&target).unwrap();
        assert_eq!(names(folder.path()), ["a"]);
        assert_eq!(fs::read(&target).unwrap(), b"new");

        let elsewhere = folder.path().join("no such folder").join("a");
        assert!(create().rename(&elsewhere).is_err());
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn a_name_that_is_taken_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x1"), "mine").unwrap();
        let create = |endings: &[&str]| {
            let endings: Vec<String> = endings.iter().map(|e| e.to_string()).collect();
            create_as(folder.path(), OsStr::new("x"), None, endings.into_iter())
        };
        let second = create(&["1", "2"]).unwrap();
        assert_eq!(names(folder.path()), ["x1", "x2"]);
        drop(second);
        assert_eq!(create(&["1", "1"]).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read(folder.path().join("x1")).unwrap(), b"mine");
    }

    #[test]
    fn endings_differ() {
        let all: std::collections::BTreeSet<String> = (0..100).map(|_| random_letters()).collect();
        assert_eq!(all.len(), 100);
    }

    #[cfg(unix)]
    #[test]
    fn the_mode_is_never_more_open_than_the_given_one() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let mode = Permissions::from_mode(0o600);
        let file = TemporaryFile::create(folder.path(), OsStr::new("x"), Some(&mode)).unwrap();
        assert_eq!(file.file().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}
