//! A folder for results that belong to no run.

use super::{cannot_create, make_folder, next_free};
use crate::error::{Result, RunError};
use llm_core::base::check_writable;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A folder that was empty before; one that was made is taken away again if nothing comes into it.
#[derive(Debug)]
pub struct EmptyFolder {
    /// Where it is.
    pub path: PathBuf,
    fresh: bool,
}

impl EmptyFolder {
    /// The folder of the user's choice, which must hold nothing, or the next free one that begins with
    /// `prefix`. A file of this `name` can be written into it.
    ///
    /// # Errors
    /// [`RunError::Create`], [`RunError::Core`].
    pub fn claim(chosen: Option<&Path>, prefix: &str, name: &str) -> Result<EmptyFolder> {
        let Some(path) = chosen.map(Path::to_path_buf) else {
            return Ok(EmptyFolder { path: next_free(prefix)?, fresh: true });
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
        let folder = EmptyFolder { path, fresh };
        check_writable(&folder.path.join(name)).map_err(RunError::from)?;
        Ok(folder)
    }
}

impl Drop for EmptyFolder {
    fn drop(&mut self) {
        if self.fresh {
            let _ = std::fs::remove_dir(&self.path); // an empty one only
        }
    }
}
