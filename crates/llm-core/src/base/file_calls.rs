//! What replacing a file asks of a file system. A trait, so that tests can put one in its place
//! that fails at every call in turn, or loses power.

use super::target::Target;
use super::temporary::TemporaryFile;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// The calls of a save, in the order in which it makes them.
pub(crate) trait Files {
    /// A new file next to the target. Dropping it removes it.
    type Temporary: Write;
    /// The target's folder, kept open.
    type Directory;

    /// The file that `path` means, links followed.
    fn find(&self, path: &Path) -> io::Result<Target>;
    /// Opens the target's folder.
    fn open_directory(&self, target: &Target) -> io::Result<Self::Directory>;
    /// Makes a file next to the target, never more open than the old one.
    fn create(&self, target: &Target) -> io::Result<Self::Temporary>;
    /// Gives it the old file's mode, exactly; a new file has the one that the umask left.
    fn take_over_mode(&self, file: &Self::Temporary, target: &Target) -> io::Result<()>;
    /// Returns when its content has reached the disk. After an error it is unknown what has, and a
    /// second call may claim success: the file must be given up.
    fn sync(&self, file: &Self::Temporary) -> io::Result<()>;
    /// Puts it in the target's place.
    fn rename(&self, file: Self::Temporary, target: &Target) -> io::Result<()>;
    /// Returns when the names in the folder have reached the disk.
    fn sync_directory(&self, directory: &Self::Directory) -> io::Result<()>;
}

/// The file system of this machine.
pub(crate) struct Disk;

impl Files for Disk {
    type Temporary = TemporaryFile;
    /// Only Unix lets a folder be opened and synced.
    type Directory = Option<File>;

    fn find(&self, path: &Path) -> io::Result<Target> {
        Target::of(path)
    }

    fn open_directory(&self, target: &Target) -> io::Result<Option<File>> {
        if cfg!(unix) { File::open(&target.directory).map(Some) } else { Ok(None) }
    }

    fn create(&self, target: &Target) -> io::Result<TemporaryFile> {
        TemporaryFile::create(&target.directory, &target.prefix(), target.mode.as_ref())
    }

    fn take_over_mode(&self, file: &TemporaryFile, target: &Target) -> io::Result<()> {
        let Some(mode) = &target.mode else { return Ok(()) };
        let file = file.file();
        // Some file systems know one mode only and refuse to set any.
        if file.metadata()?.permissions() == *mode {
            Ok(())
        } else {
            file.set_permissions(mode.clone())
        }
    }

    fn sync(&self, file: &TemporaryFile) -> io::Result<()> {
        file.file().sync_all()
    }

    fn rename(&self, file: TemporaryFile, target: &Target) -> io::Result<()> {
        file.rename(&target.path())
    }

    fn sync_directory(&self, directory: &Option<File>) -> io::Result<()> {
        match directory.as_ref().map_or(Ok(()), File::sync_all) {
            // Some file systems have nothing to do here and say so with an error.
            Err(e) if matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
                Ok(())
            }
            done => done,
        }
    }
}
