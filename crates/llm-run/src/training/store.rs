//! What a run saves, and what is safe when something fails.

use super::best::{read_best, write_best};
use super::event::{Event, Face};
use super::instead::{Instead, is_refusal};
use super::journal::{Journal, judged_on};
use super::kinds::{Identity, Kept, advice_on_rate};
use crate::error::{Result, RunError};
use crate::folder::{START, Target, Whereabouts};
use crate::log::RunState;
use crate::options::Options;
use crate::plan::Plan;
use llm_core::base::{Message, escape};
use llm_core::checkpoint::{self, Snapshot, TokenizerSpec};
use llm_core::train::{Keeper, check_usable};
use llm_core::{Error, Result as CoreResult, TinyGPT, message};
use std::io;
use std::path::{Path, PathBuf};

/// Where a run is kept, and what is there by now.
pub(super) struct Store {
    pub(super) target: Option<Target>,
    pub(super) keeper: Keeper,
    pub(super) journal: Option<Journal>,
    tokenizer: TokenizerSpec,
    judged_on: String,
    /// Step of the last saved checkpoint.
    saved: Option<u64>,
    /// A later one, beside its place.
    instead: Option<Instead>,
    /// The best state, beside its place, and its validation loss.
    best_instead: Option<(Instead, f64)>,
    /// Whether the optimizer's moments are saved too.
    moments: bool,
    /// What the run was loaded from.
    loaded: Option<PathBuf>,
    /// The weights of its start, where no other file holds them.
    start: Option<TinyGPT>,
}

impl Store {
    pub(super) fn new(plan: &Plan, options: &Options, target: Option<Target>) -> Store {
        let tokenizer = TokenizerSpec::of(plan.tokenizer.as_ref());
        let judged_on = judged_on(&plan.trainer.recipe, plan.tokenizer.as_ref());
        let run = target.as_ref().and_then(|t| t.run.as_deref());
        let keeper = match run.map(|run| run.join("ckpt")) {
            Some(folder) => {
                let best = read_best(&folder, plan.trainer.step, &judged_on);
                Keeper::new(&folder, tokenizer.clone()).with_best(best)
            }
            None => Keeper::nowhere(tokenizer.clone()),
        };
        let save_opt = options.habits.save_opt;
        let keeper = keeper.with_numbered(options.habits.keep.unwrap_or(0));
        let keeper = keeper.with_optimizer(save_opt.unwrap_or(true));
        Store {
            target,
            keeper: keeper.best_with_optimizer(save_opt == Some(true)),
            journal: None,
            tokenizer,
            judged_on,
            saved: None,
            instead: None,
            best_instead: None,
            moments: save_opt.unwrap_or(true),
            loaded: options.load.clone(),
            start: plan.ground.own_start(&plan.trainer.model).cloned(),
        }
    }

    /// In a run's folder everything is written down.
    pub(super) fn open_journal(
        &mut self,
        plan: &Plan,
        options: &Options,
        identity: &Identity,
        face: &mut dyn Face,
    ) -> Result<()> {
        let run = self.target.as_ref().and_then(|t| t.run.as_deref()).filter(|_| plan.steps > 0);
        let Some(dir) = run else { return Ok(()) };
        let (journal, notes) = Journal::open(dir, identity, plan, options, &self.judged_on)?;
        notes.iter().for_each(|note| face.event(&Event::Noted(note)));
        self.journal = Some(journal);
        Ok(())
    }

    /// What there is now.
    pub(super) fn kept(&self) -> Kept<'_> {
        let best = self.keeper.best().zip(self.keeper.best_path());
        let instead = self.instead.as_ref().map(|instead| &*instead.path);
        Kept { target: self.target.as_ref(), instead, best }
    }

    /// Saves, unless this step is saved already or nothing is to be. A useless state
    /// is not saved: a good one may lie there.
    pub(super) fn save(&mut self, run: Snapshot<'_>, face: &mut dyn Face) -> Result<()> {
        self.find_folder(run.step, face)?;
        let Some(target) = &self.target else { return Ok(()) };
        // What was saved may have gone away since.
        if self.saved == Some(run.step) && target.path.exists() {
            return Ok(());
        }
        check_usable(run).map_err(|e| self.not_saved(e, run, String::new().into()))?;
        self.write_log(run.step, face)?;
        let path = self.wherever_the_folder_is(run.step, face, |store| {
            let Some(target) = &store.target else { return Ok(None) };
            store.save_start(run)?;
            checkpoint::save(&target.path, run, &store.tokenizer, store.moments)?;
            Ok(Some(target.path.clone()))
        });
        let advice = message!("make room there, or choose another {save}");
        let path = match path {
            Err(e) if is_refusal(&e) => return self.save_instead(e, run, face),
            done => done.map_err(|e| RunError::hint(e, self.safe(advice)))?,
        };
        let Some(path) = path else { return Ok(()) };
        self.saved = Some(run.step);
        self.instead.take().into_iter().for_each(Instead::remove);
        if let Some(journal) = &mut self.journal {
            journal.info.best = self.keeper.best();
            let _ = journal.write_info(RunState::Running); // a list of runs is all that misses it
        }
        match self.keeper.number(&path, run) {
            Err(why) if is_refusal(&why) => {
                face.event(&Event::Refused { step: run.step, why: &why, instead: None });
            }
            done => done.map_err(|e| RunError::hint(e, self.safe(room())))?,
        }
        face.event(&Event::Saved { step: run.step, path: &path, moments: self.moments });
        Ok(())
    }

    /// Saves the weights of the start, before a state that cannot go on without them.
    fn save_start(&self, run: Snapshot<'_>) -> CoreResult<()> {
        let (Some(target), Some(model)) = (&self.target, &self.start) else { return Ok(()) };
        let path = target.path.with_file_name(START);
        if path.is_file() {
            return Ok(());
        }
        checkpoint::save(&path, Snapshot { model, step: 0, ..run }, &self.tokenizer, false)
    }

    /// Saves next to the place that refuses it.
    fn save_instead(&mut self, why: Error, run: Snapshot<'_>, face: &mut dyn Face) -> Result<()> {
        let said = self.instead.as_ref().is_some_and(|instead| instead.has(run.step));
        let Some(target) = self.target.as_ref().filter(|_| !said) else { return Ok(()) };
        let saved = self.beside(&target.path, why, run);
        let advice = message!("close what holds it open, or choose another {save}");
        let new = saved.map_err(|e| RunError::hint(e, self.safe(advice)))?;
        let (step, path, moments) = (run.step, &*new.path, self.moments);
        face.event(&Event::Refused { step, why: &new.why, instead: Some(path) });
        face.event(&Event::Saved { step, path, moments });
        self.instead.replace(new).into_iter().for_each(Instead::remove);
        Ok(())
    }

    /// Saves a state next to the place that refuses it.
    fn beside(&self, place: &Path, why: Error, run: Snapshot<'_>) -> CoreResult<Instead> {
        let save = |path: &Path| checkpoint::save(path, run, &self.tokenizer, self.moments);
        Instead::save(place, run.step, why, save)
    }

    /// When all is done: `Err` if the last state lies beside its place.
    pub(super) fn check_places(&mut self) -> Result<()> {
        let advice = message!("put it there, or go on with it as it is");
        let kept = self.safe(advice);
        self.instead.take().map_or(Ok(()), |instead| Err(RunError::hint(instead.why, kept)))
    }

    /// Saves this state as the best one, if that is what the measurement says.
    pub(super) fn keep_best(
        &mut self,
        val_loss: f64,
        run: Snapshot<'_>,
        face: &mut dyn Face,
    ) -> Result<()> {
        self.find_folder(run.step, face)?;
        self.write_log(run.step, face)?;
        let mut known = None; // the same measurement again is no better than itself
        let kept = self.wherever_the_folder_is(run.step, face, |store| {
            store.save_start(run)?;
            let is_best = known.map_or_else(|| store.keeper.measured(run, val_loss), Ok)?;
            known = Some(is_best);
            let path = store.keeper.best_path();
            match (path.as_deref().and_then(Path::parent), store.keeper.best()) {
                (Some(folder), Some(best)) if is_best => write_best(folder, best, &store.judged_on),
                _ => Ok(()),
            }
        });
        match kept {
            Err(e) if is_refusal(&e) => self.keep_best_instead(e, val_loss, run, face),
            Err(e) => Err(self.not_saved(e, run, room())),
            Ok(()) => {
                let worse = |(_, loss): &mut (Instead, f64)| val_loss <= *loss;
                if known == Some(true)
                    && let Some((old, _)) = self.best_instead.take_if(worse)
                {
                    old.remove();
                }
                Ok(())
            }
        }
    }

    /// The best state next to the place that refuses it. What is known of the best stays that of the
    /// file in its place, which the next better measurement tries to replace.
    fn keep_best_instead(
        &mut self,
        why: Error,
        val_loss: f64,
        run: Snapshot<'_>,
        face: &mut dyn Face,
    ) -> Result<()> {
        let step = run.step;
        let is_state = |place: &PathBuf| matches!(&why, Error::Io { path, .. } if path == place);
        let Some(place) = self.keeper.best_path().filter(is_state) else {
            face.event(&Event::Refused { step, why: &why, instead: None });
            return Ok(());
        };
        if self.best_instead.as_ref().is_some_and(|(_, loss)| *loss <= val_loss) {
            return Ok(());
        }
        let new = self.beside(&place, why, run).map_err(|e| self.not_saved(e, run, room()))?;
        face.event(&Event::Refused { step, why: &new.why, instead: Some(&new.path) });
        let before = self.best_instead.replace((new, val_loss));
        before.into_iter().for_each(|(old, _)| old.remove());
        Ok(())
    }

    /// Why a state is not saved, what is safe, and what to do: for the numbers a lower rate, for
    /// the disk `advice`.
    pub(super) fn not_saved(&self, e: Error, run: Snapshot<'_>, advice: Message) -> RunError {
        let is_unusable = matches!(e, Error::Unusable { .. });
        let advice = if is_unusable { advice_on_rate(run.recipe.clip > 0.0) } else { advice };
        RunError::hint(e, self.safe(advice))
    }

    /// What saves; once more if it failed because the folder went away meanwhile.
    fn wherever_the_folder_is<T>(
        &mut self,
        step: u64,
        face: &mut dyn Face,
        mut save: impl FnMut(&mut Self) -> CoreResult<T>,
    ) -> CoreResult<T> {
        save(self).or_else(|e| {
            let missing = |source: &io::Error| source.kind() == io::ErrorKind::NotFound;
            let was_missing = matches!(&e, Error::Io { source, .. } if missing(source));
            let found = matches!(self.find_folder(step, face), Ok(true));
            if found || was_missing { save(self) } else { Err(e) }
        })
    }

    /// Finds the run's folder, should it have been renamed, or makes it again, should it be gone;
    /// whether something had to be done about it.
    pub(super) fn find_folder(&mut self, step: u64, face: &mut dyn Face) -> Result<bool> {
        let Some(target) = &mut self.target else { return Ok(false) };
        let found = target.find();
        let Some(dir) = target.run.clone() else { return Ok(false) };
        if found != Whereabouts::There {
            self.keeper.moved_to(&dir.join("ckpt"));
        }
        if found == Whereabouts::Renamed {
            face.event(&Event::Renamed { folder: &dir });
            self.journal.iter_mut().for_each(|journal| journal.moved_to(&dir));
        }
        let is_folder = found == Whereabouts::Remade;
        let gone = |journal: &&mut Journal| is_folder || !journal.log.exists();
        let Some(journal) = self.journal.as_mut().filter(gone) else {
            return Ok(found != Whereabouts::There);
        };
        let begun = journal.begin_again(&dir, step);
        face.event(&Event::Remade { is_folder, folder: &dir, step });
        begun.map_err(|e| self.with_safe(e))?;
        Ok(true)
    }

    /// Before any checkpoint is saved: none may know a step that the log does not.
    fn write_log(&mut self, step: u64, face: &mut dyn Face) -> Result<()> {
        let write = |store: &mut Self| store.journal.as_mut().map_or(Ok(()), Journal::flush);
        let logged = write(self).or_else(|e| match self.find_folder(step, face)? {
            true => write(self), // it went away meanwhile
            false => Err(e),
        });
        logged.map_err(|e| self.with_safe(e))
    }

    /// An error of a library with what is safe.
    pub(super) fn with_safe(&self, e: RunError) -> RunError {
        let RunError::Core { source, .. } = e else { return e };
        RunError::hint(source, self.safe(room()))
    }

    /// What is safe when something fails, and what to do.
    pub(super) fn safe(&self, advice: impl Into<Message>) -> Message {
        let there = |path: &Path| path.exists().then(|| escape::path(path));
        let target = self.target.as_ref().and_then(|t| there(&t.path));
        let advice = advice.into();
        let instead = self.instead.as_ref().and_then(|at| Some((there(&at.path)?, at.step)));
        let (target, saved) =
            instead.map_or((target, self.saved), |(path, step)| (Some(path), Some(step)));
        let unchanged = target.clone().or_else(|| self.loaded.as_deref().map(escape::path));
        match (target.zip(saved), unchanged) {
            (Some((path, step)), _) => {
                message!("the checkpoint of step {} in '{}' is kept; {}", step, path, advice)
            }
            (None, Some(path)) => message!("'{}' is unchanged; {}", path, advice),
            (None, None) => message!("nothing is saved; {}", advice),
        }
    }
}

/// What to do when the disk is full.
fn room() -> Message {
    message!("make room there")
}
