//! The place that a path means, and the names of temporary files next to it.

use super::Message;
use crate::message;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf, absolute, is_separator};

/// Random letters and digits that end a temporary file's name.
pub(super) const RANDOM: usize = 6;
/// As many links as Linux follows.
const MAX_LINKS: usize = 40;

/// A file name this long leaves no room for what a temporary file's name adds (most systems allow
/// 255 bytes).
const LONG_NAME: usize = 200;

/// Where a file is to be put, links followed.
pub(crate) struct Target {
    pub(crate) directory: PathBuf,
    pub(crate) name: OsString,
    /// Permissions of the file that is there already.
    pub(crate) mode: Option<fs::Permissions>,
}

impl Target {
    pub(crate) fn of(path: &Path) -> io::Result<Target> {
        let path = follow_links(path)?;
        let mode = match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            // A rename would put a file in the place of a device or pipe.
            Ok(metadata) if !metadata.is_file() => {
                return Err(invalid(message!("not a regular file")));
            }
            Ok(metadata) => Some(metadata.permissions()),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        // `file_name` overlooks a slash at the end, which asks for a directory.
        let last = path.as_os_str().as_encoded_bytes().last();
        let slash = last.is_some_and(|&b| is_separator(b.into()));
        let name = path
            .file_name()
            .filter(|_| !slash)
            .ok_or_else(|| invalid(message!("not a file name")))?;
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
        let directory = real_folder(parent.unwrap_or(Path::new(".")))?;
        Ok(Target { directory, name: name.into(), mode })
    }

    /// The whole path.
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.join(&self.name)
    }

    /// What the names of its temporary files begin with.
    pub(crate) fn prefix(&self) -> OsString {
        let mut prefix = OsString::from(".");
        if self.name.len() > LONG_NAME {
            prefix.push(&blake3::hash(self.name.as_encoded_bytes()).to_hex()[..32]);
        } else {
            prefix.push(&self.name);
        }
        prefix.push(OsStr::new(".tmp-"));
        prefix
    }

    /// Whether this is the name of one of its temporary files.
    pub(crate) fn is_leftover(&self, name: &OsStr) -> bool {
        let prefix = self.prefix();
        let rest = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes());
        rest.is_some_and(|r| r.len() == RANDOM && r.iter().all(u8::is_ascii_alphanumeric))
    }
}

/// The folder's own path, links followed. Some drives of Windows, such as disks in memory, do not say it.
fn real_folder(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path).or_else(|e| match cfg!(windows) && path.is_dir() {
        true => absolute(path),
        false => Err(e),
    })
}

fn invalid(reason: Message) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, reason)
}

/// The path at the end of the links, whether or not something is there.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        let Ok(link) = fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("")).join(link);
    }
    Err(invalid(message!("too many symbolic links")))
}
