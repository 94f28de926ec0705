//! Where a run's folder is by now.

use super::Target;
use super::lock::{self, Lock};
use super::names::{self, Whereabouts};
use crate::log::suffixed;
use std::fs::File;
use std::path::{Path, PathBuf};

impl Target {
    /// Finds the run's folder, wherever it is by now, makes it again when it is gone, and makes
    /// its `ckpt` again when that is. Afterwards `run` and `path` say where. What cannot be made is
    /// for the next save to say.
    pub fn find(&mut self) -> Whereabouts {
        let (Some(run), Some(home)) = (&self.run, &self.home) else {
            if let Some(parent) = self.path.parent() {
                let _ = std::fs::create_dir_all(parent);
            }
            return Whereabouts::There;
        };
        let (dir, found) = match (lock::is(home, run), name_of(home)) {
            (true, _) => (run.clone(), Whereabouts::There),
            (false, Some(now)) => (now, Whereabouts::Renamed),
            (false, None) => (free_place(run), Whereabouts::Remade),
        };
        if !dir.join("ckpt").is_dir() {
            let _ = names::make_folder(&dir.join("ckpt"));
        }
        self.path = names::in_run(&dir);
        if found == Whereabouts::Remade {
            self.home = File::open(&dir).ok();
            self.lock = Lock::take(&self.path).ok();
        } else if let Some(lock) = &mut self.lock {
            lock.follow(&self.path);
        }
        self.run = Some(dir);
        found
    }
}

/// The path of an open folder, when the system knows it and it still has one; below the current
/// folder, from there.
#[cfg(target_os = "linux")]
fn name_of(folder: &File) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    let path = std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd())).ok()?;
    let here = std::env::current_dir().unwrap_or_default();
    let path = path.strip_prefix(here).map_or_else(|_| path.clone(), Path::to_path_buf);
    lock::is(folder, &path).then_some(path)
}

#[cfg(not(target_os = "linux"))]
fn name_of(_: &File) -> Option<PathBuf> {
    None
}

/// `dir`, or next to it `dir-2`, `dir-3` ..: the first free one.
fn free_place(dir: &Path) -> PathBuf {
    let beside = (2u32..).map(|n| suffixed(dir, &format!("-{n}")));
    let is_free = |dir: &PathBuf| match std::fs::read_dir(dir) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => std::fs::symlink_metadata(dir).is_err(),
    };
    std::iter::once(dir.to_path_buf()).chain(beside).find(is_free).unwrap_or(dir.to_path_buf())
}
