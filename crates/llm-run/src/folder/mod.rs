//! Where a run is saved: chosen, tried and locked before training starts.

mod empty;
mod find;
mod lock;
mod names;
mod settings;

pub use empty::EmptyFolder;
pub use names::{
    BEGINNINGS, PAGE, REPORT, START, Whereabouts, cannot_create, make_folder, refuse_link,
};
pub use settings::{config, config_text, setting, whole_setting};

use crate::error::{Result, RunError, foreign};
use llm_core::base::{system_reason, with_causes};
use llm_core::{base, checkpoint, message};
use llm_formats::first_look::Look;
use lock::Lock;
use names::in_run;
use std::fs::File;
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
    lock: Option<Lock>,
    /// The run's folder itself, by whatever name.
    home: Option<File>,
}

impl Target {
    /// A file of the user's choice; an existing one will be replaced, unless it is the checkpoint of
    /// a run in a folder, and not of the one that goes on (`continues`).
    ///
    /// # Errors
    /// [`RunError::Create`] when it cannot be written, [`RunError::Busy`].
    pub fn file(path: &Path, continues: Option<&Path>) -> Result<Target> {
        let path = path.to_path_buf();
        if let Some(run) = run_of(&path).filter(|run| is_run(run))
            && path.exists()
            && !continues.is_some_and(|c| is_same(c, &path))
        {
            let run = run.display();
            let why = message!("it belongs to the run in '{}', whose log would be another's", run);
            return Err(RunError::Create { path, why });
        }
        Target { path, run: None, fresh: false, lock: None, home: None }.claim()
    }

    /// `DIR/ckpt/last` of a folder of the user's choice. A run that is already there is not
    /// replaced, unless it is the one that goes on (`continues`); nor is anything that is not known
    /// to be that run's.
    ///
    /// # Errors
    /// As [`Target::file`].
    pub fn folder(dir: &Path, continues: Option<&Path>) -> Result<Target> {
        Target::check_folder(dir, continues)?;
        let fresh = !dir.exists();
        Target::in_folder(dir, fresh)
    }

    /// What [`Target::folder`] refuses because of what is there already. Nothing is made.
    ///
    /// # Errors
    /// [`RunError::Create`], [`RunError::Busy`].
    pub fn check_folder(dir: &Path, continues: Option<&Path>) -> Result<()> {
        names::refuse_links(dir)?;
        let path = in_run(dir);
        if path.exists() && !continues.is_some_and(|c| is_same(c, &path)) {
            let why = message!("there is a run already, continue it with {load} {}", dir.display());
            return Err(RunError::Create { path, why });
        }
        if !path.exists()
            && let Some(taken) = names::occupied(dir)
        {
            // Of a run that is at work there, and has not saved yet?
            if let Err(busy @ RunError::Busy { .. }) = Lock::take(&path) {
                return Err(busy);
            }
            if names::is_begun_only(dir) {
                return Ok(());
            }
            let why = message!(
                "it exists, and there is no ckpt/last that says whose it is; choose another \
                       {out}, or move it away"
            );
            return Err(RunError::Create { path: taken, why });
        }
        Ok(())
    }

    fn in_folder(dir: &Path, fresh: bool) -> Result<Target> {
        make_folder(&dir.join("ckpt"))?;
        let (path, run, home) = (in_run(dir), Some(dir.to_path_buf()), File::open(dir).ok());
        let target = Target { path, run, fresh, lock: None, home }.claim()?;
        names::sweep(dir);
        Ok(target)
    }

    /// The next free `runs/NNN`.
    ///
    /// # Errors
    /// As [`Target::file`].
    pub fn next_run() -> Result<Target> {
        Target::in_folder(&next_free("")?, true)
    }

    /// Refuses to replace what is no checkpoint, locks the file against other runs, clears away
    /// what a killed one left, and tries whether it can be written.
    fn claim(mut self) -> Result<Target> {
        if is_foreign(&self.path, checkpoint::looks_like_checkpoint) {
            let why = message!("it exists and is not a checkpoint");
            return Err(RunError::Create { path: self.path.clone(), why });
        }
        // The lock belongs to the file that is written, by whatever links it is reached.
        self.lock = Some(Lock::take(&self.path)?);
        base::sweep_stale(&self.path);
        base::check_writable(&self.path).map_err(|e| RunError::Create {
            path: self.path.clone(),
            why: match e {
                llm_core::Error::Io { source, .. } => system_reason(&source),
                other => with_causes(&other),
            },
        })?;
        Ok(self)
    }

    /// What to give `--load` for this run.
    pub fn load_name(&self) -> &Path {
        self.run.as_deref().unwrap_or(&self.path)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        drop(self.lock.take());
        if let (true, Some(run), false) = (self.fresh, &self.run, self.path.exists()) {
            let _ = std::fs::remove_dir(run.join("ckpt"));
            let _ = std::fs::remove_dir(run);
        }
    }
}

/// Whether these are the same file, by whatever names.
pub fn is_same(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// `DIR` of `DIR/ckpt/NAME`.
pub fn run_of(checkpoint: &Path) -> Option<PathBuf> {
    let folder = checkpoint.parent()?;
    let parent = folder.parent().filter(|_| folder.ends_with("ckpt"))?;
    Some(if parent.as_os_str().is_empty() { ".".into() } else { parent.to_path_buf() })
}

/// Whether there is a file that is not one of ours. An empty file is not foreign.
fn is_foreign(path: &Path, is_ours: impl FnOnce(&Path) -> bool) -> bool {
    let length = std::fs::metadata(path).map_or(0, |m| if m.is_file() { m.len() } else { 0 });
    length > 0 && !is_ours(path)
}

/// `Err` with the reason when there is a file at `path` that is not one of ours, or nothing can be
/// written there.
pub fn may_replace(path: &Path, is_ours: impl FnOnce(&Path) -> bool, why: &str) -> io::Result<()> {
    if is_foreign(path, is_ours) {
        return Err(io::Error::other(why));
    }
    base::check_writable(path).map_err(|e| match e {
        llm_core::Error::Io { source, .. } => source,
        other => io::Error::other(other.to_string()),
    })
}

/// The checkpoint that `--load` means: the file itself, or the last one of a run's folder.
///
/// # Errors
/// [`RunError::Input`] for a folder without a run.
pub fn to_load(path: &Path) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let last = in_run(path);
    match last.try_exists() {
        Ok(true) => return Ok(last),
        Ok(false) => {}
        Err(e) => return Err(RunError::Input { path: last, why: system_reason(&e) }),
    }
    if let Some(other) = foreign(path, &[Look::Run]) {
        return Err(other);
    }
    let why = message!("there is no run in this folder (no ckpt/last)");
    Err(RunError::Input { path: path.into(), why })
}

/// Whether the folder holds what only a run leaves.
pub fn is_run(dir: &Path) -> bool {
    ["run.json", "metrics.csv", "ckpt/last"].iter().any(|name| dir.join(name).is_file())
}

/// Whether a process works on the run in this folder.
pub fn is_at_work(run: &Path) -> bool {
    lock::is_held(&in_run(run))
}

/// The run below `runs` that was saved last, if there is one.
pub fn newest_run() -> Option<PathBuf> {
    let runs = std::fs::read_dir("runs").ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let saved = |run: &PathBuf| std::fs::metadata(in_run(run)).ok()?.modified().ok();
    runs.filter_map(|run| Some((saved(&run)?, run))).max().map(|(_, run)| run)
}

/// Makes the next free `runs/<prefix>NNN`.
///
/// # Errors
/// [`RunError::Create`].
pub fn next_free(prefix: &str) -> Result<PathBuf> {
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
    Err(RunError::Create { path: runs.into(), why: message!("all numbers are taken") })
}
