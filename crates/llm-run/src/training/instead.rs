//! States that lie beside their places, because what is there cannot be replaced: another program
//! holds it open (on Windows), or it is protected.

use crate::folder::{may_replace, refuse_link};
use crate::log::suffixed;
use llm_core::base::is_refused;
use llm_core::checkpoint::looks_like_checkpoint;
use llm_core::{Error, IoAction, Result};
use std::path::{Path, PathBuf};

/// A state beside its place.
#[derive(Debug)]
pub(super) struct Instead {
    pub(super) step: u64,
    pub(super) path: PathBuf,
    /// Why it is not in its place.
    pub(super) why: Error,
}

/// Whether a save failed because of what lies in its place.
pub(super) fn is_refusal(e: &Error) -> bool {
    matches!(e, Error::Io { action: IoAction::Save, source, .. } if is_refused(source))
}

impl Instead {
    /// Saves a state of this step next to its place, by a name that says what it is.
    ///
    /// # Errors
    /// `why` its place refused it, when it cannot be saved there either.
    pub(super) fn save(
        place: &Path,
        step: u64,
        why: Error,
        save: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<Instead> {
        let path = suffixed(place, &format!(".step-{step:08}"));
        let is_free =
            refuse_link(&path).is_ok() && may_replace(&path, looks_like_checkpoint, "").is_ok();
        if is_free && save(&path).is_ok() { Ok(Instead { step, path, why }) } else { Err(why) }
    }

    /// Whether the state of this step is there.
    pub(super) fn has(&self, step: u64) -> bool {
        self.step == step && self.path.exists()
    }

    /// A later state is safe.
    pub(super) fn remove(self) {
        let _ = std::fs::remove_file(self.path); // one that stays does no harm
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, ErrorKind};

    #[test]
    fn what_is_not_ours_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("last");
        let why =
            || Error::io(IoAction::Save, &place, io::Error::from(ErrorKind::PermissionDenied));
        let write = |path: &Path| {
            std::fs::write(path, "state").unwrap();
            Ok(())
        };
        assert!(is_refusal(&why()));
        let instead = Instead::save(&place, 7, why(), write).unwrap();
        assert_eq!(instead.path, folder.path().join("last.step-00000007"));
        assert!(instead.has(7) && !instead.has(8));
        // It is no checkpoint now, and so nobody's to replace.
        let refused = Instead::save(&place, 7, why(), |_| unreachable!()).unwrap_err();
        assert!(is_refusal(&refused));
        instead.remove();
        let full = |_: &Path| Err(Error::io(IoAction::Save, &place, ErrorKind::StorageFull.into()));
        assert!(is_refusal(&Instead::save(&place, 7, why(), full).unwrap_err()));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
