//! What a run saves, and what is safe when something fails.

use super::journal::Journal;
use super::{Training, advice_on_rate, keep};
use crate::error::{Result, RunError};
use crate::events::Event;
use llm_core::checkpoint::{self, Snapshot};
use llm_core::message;
use llm_core::train::check_usable;
use llm_core::{Error, Result as CoreResult};
use llm_run::escape::one_line;
use llm_run::folder::Whereabouts;
use llm_run::log::RunState;
use std::io;
use std::path::Path;

impl Training<'_> {
    /// Saves, unless this step is saved already or nothing is to be. A state that nobody could use
    /// is not: a good one may lie there.
    pub(super) fn store(&mut self, trainer: Snapshot<'_>) -> Result<()> {
        self.find_folder(trainer.step)?;
        let Some(target) = &self.target else { return Ok(()) };
        // What was saved may have gone away since.
        if self.saved == Some(trainer.step) && target.path.exists() {
            return Ok(());
        }
        check_usable(trainer).map_err(|e| self.not_saved(e, trainer, ""))?;
        self.write_log(trainer.step)?;
        let moments = self.moments();
        let path = self.wherever_the_folder_is(trainer.step, |session| {
            let Some(target) = &session.target else { return Ok(None) };
            checkpoint::save(&target.path, trainer, &session.tokenizer, moments)?;
            Ok(Some(target.path.clone()))
        });
        let advice = "make room there, or choose another --save";
        let Some(path) = path.map_err(|e| RunError::hint(e, self.kept(advice)))? else {
            return Ok(());
        };
        self.saved = Some(trainer.step);
        if let Some(journal) = &mut self.journal {
            journal.best(self.keeper.best());
            let _ = journal.write_info(RunState::Running); // a list of runs is all that misses it
        }
        let numbered = self.keeper.number(&path, trainer);
        numbered.map_err(|e| RunError::hint(e, self.kept("make room there")))?;
        let (step, shown) = (trainer.step, path.display().to_string());
        self.emit(&Event::Saved { step, path: &shown });
        let with = if moments { " (with optimizer state)" } else { "" };
        self.say(message!("saved checkpoint '{}' at step {}{}", one_line(&shown), step, with));
        Ok(())
    }

    /// Saves this state as the best one, if that is what the measurement says.
    pub(super) fn keep_best(&mut self, val_loss: f64, run: Snapshot<'_>) -> Result<()> {
        self.find_folder(run.step)?;
        self.write_log(run.step)?;
        let mut known = None; // the same measurement again is no better than itself
        let kept = self.wherever_the_folder_is(run.step, |session| {
            let is_best = match known {
                Some(is_best) => is_best,
                None => session.keeper.measured(run, val_loss)?,
            };
            known = Some(is_best);
            let path = session.keeper.best_path();
            match (path.as_deref().and_then(Path::parent), session.keeper.best()) {
                (Some(folder), Some(best)) if is_best => {
                    keep::write_best(folder, best, &session.judged_on)
                }
                _ => Ok(()),
            }
        });
        kept.map_err(|e| self.not_saved(e, run, "make room there"))
    }

    /// Why a state is not saved, what is safe, and what to do: for the numbers a lower rate, for
    /// the disk `advice`.
    pub(super) fn not_saved(&self, e: Error, run: Snapshot<'_>, advice: &str) -> RunError {
        let advice = match e {
            Error::Unusable { .. } => advice_on_rate(run.recipe.clip > 0.0),
            _ => advice,
        };
        RunError::hint(e, self.kept(advice))
    }

    /// What saves; once more if it failed because the folder went away meanwhile.
    fn wherever_the_folder_is<T>(
        &mut self,
        step: u64,
        mut save: impl FnMut(&mut Self) -> CoreResult<T>,
    ) -> CoreResult<T> {
        save(self).or_else(|e| {
            let missing = |source: &io::Error| source.kind() == io::ErrorKind::NotFound;
            let was_missing = matches!(&e, Error::Io { source, .. } if missing(source));
            let found = matches!(self.find_folder(step), Ok(true));
            if found || was_missing { save(self) } else { Err(e) }
        })
    }

    /// Finds the run's folder, should it have been renamed, or makes it again, should it be gone;
    /// whether something had to be done about it.
    pub(super) fn find_folder(&mut self, step: u64) -> Result<bool> {
        let Some(target) = &mut self.target else { return Ok(false) };
        let found = target.find();
        let Some(dir) = target.run.clone() else { return Ok(false) };
        if found != Whereabouts::There {
            self.keeper.moved_to(&dir.join("ckpt"));
        }
        let shown = one_line(&dir.display().to_string());
        if found == Whereabouts::Renamed {
            self.say(message!("the run's folder is called '{}' now: the run goes on there", shown));
            self.journal.iter_mut().for_each(|journal| journal.moved_to(&dir));
        }
        let gone = |journal: &&mut Journal| found == Whereabouts::Remade || journal.is_gone();
        let Some(journal) = self.journal.as_mut().filter(gone) else {
            return Ok(found != Whereabouts::There);
        };
        let begun = journal.begin_again(&dir, step);
        let what = if found == Whereabouts::Remade { "folder" } else { "log" };
        self.say(message!(
            "the run's {} was gone and is made again in '{}'; its log begins after step \
             {}",
            what,
            shown,
            step
        ));
        begun.map_err(|e| self.with_kept(e, "make room there"))?;
        Ok(true)
    }

    /// Before any checkpoint is saved: none may know a step that the log does not.
    fn write_log(&mut self, step: u64) -> Result<()> {
        let write = |session: &mut Self| session.journal.as_mut().map_or(Ok(()), Journal::flush);
        let logged = write(self).or_else(|e| match self.find_folder(step)? {
            true => write(self), // it went away meanwhile
            false => Err(e),
        });
        logged.map_err(|e| self.with_kept(e, "make room there"))
    }

    /// Whether the optimizer's moments are saved too.
    pub(super) fn moments(&self) -> bool {
        self.args.save_opt.unwrap_or(true)
    }

    /// An error of the library with what is safe.
    pub(super) fn with_kept(&self, e: RunError, advice: &str) -> RunError {
        match e {
            RunError::Core { source, .. } => RunError::hint(source, self.kept(advice)),
            other => other,
        }
    }

    /// What is safe when something fails, and what to do.
    pub(super) fn kept(&self, advice: &str) -> String {
        let there = |path: &Path| path.exists().then(|| one_line(&path.display().to_string()));
        let target = self.target.as_ref().and_then(|t| there(&t.path));
        match (target, self.saved, &self.args.load) {
            (Some(path), Some(step), _) => {
                format!("the checkpoint of step {step} in '{path}' is kept; {advice}")
            }
            (Some(path), None, _) => format!("'{path}' is unchanged; {advice}"),
            (None, _, Some(load)) => {
                let load = one_line(&load.display().to_string());
                format!("'{load}' is unchanged; {advice}")
            }
            (None, ..) => format!("nothing is saved; {advice}"),
        }
    }
}
