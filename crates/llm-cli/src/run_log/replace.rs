//! Files that are there completely or not at all: written beside their place, then renamed.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Gives `dir/name` the content that `write` writes. On an error what was there before stays, and
/// nothing else. What a kill leaves behind has the name that
/// [`sweep_stale`](llm_core::checkpoint::sweep_stale) looks for.
pub(super) fn replace(
    dir: &Path,
    name: &str,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let prefix = format!(".{name}.tmp-");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).rand_bytes(6);
    // As open as the umask allows: unlike a temporary file, this one is meant to be read.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut out = BufWriter::new(builder.tempfile_in(dir)?);
    write(&mut out)?;
    let temporary = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    temporary.as_file().sync_all()?;
    temporary.persist(dir.join(name)).map_err(|e| e.error)?;
    // The name reaches the disk too, where a folder can be told to.
    if cfg!(unix) {
        let _ = File::open(dir).and_then(|dir| dir.sync_all());
    }
    Ok(())
}

/// Writes the run's settings into its folder, as `config.toml`.
///
/// # Errors
/// [`Error::Io`](llm_core::Error::Io) with the path; an older file is then as before.
pub fn write_config(dir: &Path, text: &str) -> llm_core::Result<()> {
    let name = "config.toml";
    replace(dir, name, |out| out.write_all(text.as_bytes()))
        .map_err(|e| super::write_error(&dir.join(name), e))
}
