//! Where a comparison leaves its results.

use crate::error::{Result, RunError, of_verb};
use llm_core::base::check_writable;
use llm_core::base::escape;
use llm_run::folder::{cannot_create, make_folder, next_free};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A folder that was empty before.
pub(super) struct Folder {
    pub(super) path: PathBuf,
    /// Made here: taken away again if nothing comes into it.
    fresh: bool,
}

impl Folder {
    /// The folder of the user's choice, which must hold nothing, or the next free one.
    ///
    /// # Errors
    /// [`RunError::Core`] with exit code 73.
    pub(super) fn claim(chosen: Option<&Path>) -> Result<Folder> {
        Folder::claimed(chosen).map_err(|e| of_verb(e, "nothing was trained, choose another --out"))
    }

    fn claimed(chosen: Option<&Path>) -> Result<Folder> {
        let Some(path) = chosen.map(Path::to_path_buf) else {
            return Ok(Folder { path: next_free("compare-")?, fresh: true });
        };
        let fresh = match std::fs::read_dir(&path).map(|mut entries| entries.next().is_some()) {
            Ok(false) => false,
            Ok(true) => {
                return Err(RunError::Create { path, why: "the folder is not empty".into() });
            }
            Err(e) if e.kind() == ErrorKind::NotFound => true,
            Err(e) => return Err(cannot_create(&path, &e)),
        };
        make_folder(&path)?;
        let folder = Folder { path, fresh };
        check_writable(&folder.path.join("compare.json")).map_err(RunError::from)?;
        Ok(folder)
    }

    /// Its name for a person.
    pub(super) fn name(&self) -> String {
        escape::path(&self.path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.fresh {
            let _ = std::fs::remove_dir(&self.path); // an empty one only
        }
    }
}
