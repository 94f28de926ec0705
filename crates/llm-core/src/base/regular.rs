//! Opening what is a file and nothing else.

use crate::message;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::path::Path;

/// Opens a regular file and asks for its length. Asked before opening too: opening a pipe waits
/// for a writer.
///
/// # Errors
/// What the system says; for a folder [`ErrorKind::IsADirectory`], for a device or a pipe
/// [`ErrorKind::InvalidInput`].
pub fn open_regular(path: &Path) -> io::Result<(File, u64)> {
    let length = |metadata: Metadata| match metadata {
        m if m.is_file() => Ok(m.len()),
        m if m.is_dir() => Err(ErrorKind::IsADirectory.into()),
        _ => Err(io::Error::new(ErrorKind::InvalidInput, message!("not a regular file"))),
    };
    length(fs::metadata(path)?)?;
    let mut options = File::options();
    #[cfg(target_os = "linux")]
    {
        // Some regular files of the kernel (/proc/kmsg) wait for something to come; others never do.
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(libc::O_NONBLOCK);
    }
    let file = options.read(true).open(path)?;
    let length = length(file.metadata()?)?;
    Ok((file, length))
}
