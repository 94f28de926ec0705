//! Where a run is saved: chosen, tried and locked before training starts.

use crate::error::{CliError, Result, system_reason};
use llm_core::{base, checkpoint};
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// A checkpoint file that this process alone writes.
#[derive(Debug)]
pub struct Target {
    /// The file.
    pub path: PathBuf,
    /// The run's folder, when it has one.
    pub run: Option<PathBuf>,
    /// The folder was made by this run: taken away again if nothing is ever saved.
    fresh: bool,
    lock: Option<(PathBuf, File)>,
}

impl Target {
    /// A file of the user's choice; an existing one will be replaced.
    ///
    /// # Errors
    /// [`CliError::Create`] when it cannot be written, [`CliError::Busy`].
    pub fn file(path: &Path) -> Result<Target> {
        Target { path: path.to_path_buf(), run: None, fresh: false, lock: None }.claim()
    }

    /// `DIR/ckpt/last` of a folder of the user's choice. A run that is already there is not
    /// replaced, unless it is the one that goes on (`continues`).
    ///
    /// # Errors
    /// As [`Target::file`].
    pub fn folder(dir: &Path, continues: Option<&Path>) -> Result<Target> {
        let path = in_run(dir);
        let same = |a: &Path, b: &Path| a.canonicalize().ok() == b.canonicalize().ok();
        if path.exists() && !continues.is_some_and(|c| same(c, &path)) {
            let why = format!("there is a run already, continue it with --load {}", dir.display());
            return Err(CliError::Create { path, why });
        }
        let fresh = !dir.exists();
        make_folder(&dir.join("ckpt"))?;
        Target { path, run: Some(dir.to_path_buf()), fresh, lock: None }.claim()
    }

    /// The next free `runs/NNN`.
    ///
    /// # Errors
    /// As [`Target::file`].
    pub fn next_run() -> Result<Target> {
        let dir = next_free("")?;
        make_folder(&dir.join("ckpt"))?;
        Target { path: in_run(&dir), run: Some(dir), fresh: true, lock: None }.claim()
    }

    /// Refuses to replace what is no checkpoint, locks the file against other runs, clears away
    /// what a killed one left, and tries whether it can be written.
    fn claim(mut self) -> Result<Target> {
        if is_foreign(&self.path, checkpoint::looks_like_checkpoint) {
            let why = "it exists and is not a checkpoint".into();
            return Err(CliError::Create { path: self.path.clone(), why });
        }
        // The lock belongs to the file that is written, by whatever links it is reached.
        self.lock = Some(lock(&self.path, &base::real_path(&self.path))?);
        base::sweep_stale(&self.path);
        base::check_writable(&self.path).map_err(|e| CliError::Create {
            path: self.path.clone(),
            why: match e {
                llm_core::Error::Io { source, .. } => system_reason(&source),
                other => other.to_string(),
            },
        })?;
        Ok(self)
    }

    /// Makes the folder again, should it have gone away meanwhile.
    pub fn remake_folder(&self) {
        if let Some(parent) = self.path.parent() {
            let _ = std::fs::create_dir_all(parent);
        }
    }

    /// What to give `--load` for this run.
    pub fn load_name(&self) -> &Path {
        self.run.as_deref().unwrap_or(&self.path)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some((lock, file)) = self.lock.take() {
            // Removed while still locked; who opened it meanwhile sees that and tries again.
            if cfg!(unix) {
                let _ = std::fs::remove_file(lock);
            }
            drop(file);
        }
        if let (true, Some(run), false) = (self.fresh, &self.run, self.path.exists()) {
            let _ = std::fs::remove_dir(run.join("ckpt"));
            let _ = std::fs::remove_dir(run);
        }
    }
}

/// Whether there is a file that is not one of ours. An empty file is nobody's.
fn is_foreign(path: &Path, is_ours: impl FnOnce(&Path) -> bool) -> bool {
    let length = std::fs::metadata(path).map_or(0, |m| if m.is_file() { m.len() } else { 0 });
    length > 0 && !is_ours(path)
}

/// `Err` with the reason when there is a file at `path` that is not one of ours, or nothing can be
/// written there.
pub(crate) fn may_replace(
    path: &Path,
    is_ours: impl FnOnce(&Path) -> bool,
    not_ours: &str,
) -> io::Result<()> {
    if is_foreign(path, is_ours) {
        return Err(io::Error::other(not_ours));
    }
    base::check_writable(path).map_err(|e| match e {
        llm_core::Error::Io { source, .. } => source,
        other => io::Error::other(other.to_string()),
    })
}

/// Takes `<real>.lock`, `real` being the file that `path` means. The lock goes with the process,
/// however that ends; the file may stay.
fn lock(path: &Path, real: &Path) -> Result<(PathBuf, File)> {
    let mut name = real.file_name().unwrap_or_default().to_os_string();
    name.push(".lock");
    let lock = real.with_file_name(name);
    loop {
        let file = File::options().create(true).append(true).open(&lock);
        let file = file.map_err(|e| cannot_create(path, &e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(CliError::Busy { path: path.into() }),
            // A file system without locks: go on, as before there were any.
            Err(TryLockError::Error(_)) => return Ok((lock, file)),
        }
        // Its last owner may have removed it between our opening and locking.
        if is_still_there(&file, &lock) {
            return Ok((lock, file));
        }
    }
}

#[cfg(unix)]
fn is_still_there(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |m: io::Result<std::fs::Metadata>| m.map(|m| (m.dev(), m.ino())).ok();
    let ours = id(file.metadata());
    ours.is_some() && ours == id(std::fs::metadata(path))
}

#[cfg(not(unix))]
fn is_still_there(_: &File, _: &Path) -> bool {
    true
}

/// The checkpoint that `--load` means: the file itself, or the last one of a run's folder.
///
/// # Errors
/// [`CliError::Input`] for a folder without a run.
pub fn to_load(path: &Path) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let last = in_run(path);
    if last.exists() {
        return Ok(last);
    }
    let why = "there is no run in this folder (no ckpt/last)".into();
    Err(CliError::Input { path: path.into(), why })
}

/// The run below `runs` that was saved last, if there is one.
pub fn newest_run() -> Option<PathBuf> {
    let runs = std::fs::read_dir("runs").ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let saved = |run: &PathBuf| std::fs::metadata(in_run(run)).ok()?.modified().ok();
    runs.filter_map(|run| Some((saved(&run)?, run))).max().map(|(_, run)| run)
}

fn in_run(dir: &Path) -> PathBuf {
    dir.join("ckpt").join("last")
}

/// Makes the next free `runs/<prefix>NNN`.
///
/// # Errors
/// [`CliError::Create`].
pub(crate) fn next_free(prefix: &str) -> Result<PathBuf> {
    let runs = Path::new("runs");
    make_folder(runs)?;
    for n in 1..1_000_000u32 {
        let dir = runs.join(format!("{prefix}{n:03}"));
        match std::fs::create_dir(&dir) {
            Ok(()) => return Ok(dir),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(cannot_create(&dir, &e)),
        }
    }
    Err(CliError::Create { path: runs.into(), why: "all numbers are taken".into() })
}

/// Makes the folder and those above it. Their names are on the disk before anything is saved in
/// them: a checkpoint that is safe in a folder that is not would be lost with it.
pub(crate) fn make_folder(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).map_err(|e| cannot_create(dir, &e))?;
    if cfg!(unix) {
        for above in dir.ancestors().skip(1).take(3) {
            let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
            // Some file systems cannot; then there is nothing to be done.
            let _ = File::open(above).and_then(|folder| folder.sync_all());
        }
    }
    Ok(())
}

pub(crate) fn cannot_create(path: &Path, e: &io::Error) -> CliError {
    CliError::Create { path: path.to_path_buf(), why: system_reason(e) }
}
