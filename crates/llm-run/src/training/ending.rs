//! How a run ends: the last measurement, what is said, the page.

use super::Training;
use super::event::Event;
use super::forgetting::most_after;
use super::kinds::{Early, PageEnding};
use super::measuring::{measure, measure_some};
use crate::data::Report;
use crate::defaults::PERIODIC_TOKENS;
use crate::error::{Result, RunError};
use crate::log::{Compared, Paired, RunState};
use crate::plan::Plan;
use crate::rewards::Ground;
use llm_core::checkpoint::Snapshot;
use llm_core::train::{Ending, Trainer, Work};
use std::path::Path;

impl Training<'_> {
    /// The steps, and the measurement after them.
    pub(super) fn train(&mut self, plan: &mut Plan, work: &mut dyn Work) -> Result<Option<Report>> {
        let before = self.before(plan, work)?;
        self.compare((&plan.trainer).into(), plan.trainer.step == 0, work)?;
        let ending = self.steps(plan, work)?;
        let step = plan.trainer.step;
        self.early = match ending {
            Ending::AllSteps | Ending::Interrupted => None,
            Ending::TimeIsUp { .. } => Some(Early::TimeIsUp(step)),
            Ending::NoProgress => Some(Early::NoProgress(step)),
        };
        let (best, worse) = (self.store.keeper.best(), self.store.keeper.worse());
        self.face.event(&Event::Ended { ending: &ending, step, best, worse });
        let Trainer { model, optimizer, .. } = &mut plan.trainer;
        work.before_saving(model, optimizer.as_mut())?;
        // Before the save: whoever goes on from it asks no more.
        self.asked((&plan.trainer).into())?;
        // A measurement may take longer than the steps did: nothing is lost by it.
        self.save(plan)?;
        let report = self.measure(plan, work)?;
        self.forgotten(before, report.as_ref(), plan, work)?;
        Ok(report)
    }

    /// The measurement after the last step.
    fn measure(&mut self, plan: &Plan, work: &mut dyn Work) -> Result<Option<Report>> {
        let Some(val) = plan.data.as_ref().and_then(|d| d.val.as_ref()) else {
            match self.compare((&plan.trainer).into(), true, work)? {
                Some(found) => {
                    let trainer = &plan.trainer;
                    self.store.keep_best(found.loss, trainer.into(), self.face)?;
                }
                None => self.face.event(&Event::Unmeasured),
            }
            return Ok(None);
        };
        let trainer = &plan.trainer;
        let (model, batch_size) = (&trainer.model, trainer.recipe.batch_size);
        let most = most_after(val, plan, trainer.step);
        let Training { face, clock, .. } = self;
        let scored = measure(work, val, model, [batch_size, most], Some(clock), &mut |n, of, _| {
            if of > 0 {
                face.event(&Event::Scoring { scored: n, total: of });
            }
            face.signal().is_some()
        });
        let scored = scored?;
        face.event(&Event::Scored(&scored));
        let report = scored.report;
        if self.signal(work)?.is_some() {
            return self.interrupted(trainer, work);
        }
        let checked = report.evaluation.check(trainer.step);
        checked.map_err(|e| self.store.not_saved(e, trainer.into(), String::new().into()))?;
        // The last state may be the best: measured on as much as the others were.
        let as_many = val.tokens_of(PERIODIC_TOKENS) as u64;
        let Training { face, clock, .. } = self;
        let periodic = match report.evaluation.tokens > PERIODIC_TOKENS as u64 {
            true => {
                let size = [batch_size, PERIODIC_TOKENS];
                measure_some(work, val, model, size, (&mut **face, clock))?.evaluation
            }
            false => report.evaluation,
        };
        let comparable = periodic.tokens >= as_many || self.store.keeper.best().is_none();
        if self.face.signal().is_none() && comparable {
            self.store.keep_best(periodic.loss, trainer.into(), self.face)?;
        }
        if let Some(journal) = &self.store.journal {
            journal.look_at_heads(trainer.step, model)?;
        }
        let (step, clipped) = (trainer.step, trainer.recipe.clip > 0.0);
        self.face.event(&Event::Result { step, report: &report, on: val, model, clipped });
        Ok(Some(report))
    }

    /// What the model makes of the unseen pairs, which is said, and written down if it is to be `kept`; nothing where
    /// there are none.
    pub(super) fn compare(
        &mut self,
        run: Snapshot<'_>,
        kept: bool,
        work: &mut dyn Work,
    ) -> Result<Option<Compared>> {
        let Ground { pairs: Some(pairs), start: Some(start), .. } = &self.ground else {
            return Ok(None);
        };
        let found =
            pairs.measured([run.model, start], [run.recipe.batch_size, usize::MAX], work)?;
        if let Some(found) = &found {
            self.face.event(&Event::Compared { step: run.step, unseen: found });
            self.store.find_folder(run.step, self.face)?;
            if let Some(journal) = self.store.journal.as_ref().filter(|_| kept) {
                journal.paired(&Paired { step: run.step, unseen: true, of: *found })?;
            }
        }
        Ok(found)
    }

    /// After a signal: save and say so. What the command ends with.
    pub(super) fn interrupted<T>(&mut self, trainer: &Trainer, work: &mut dyn Work) -> Result<T> {
        let signal = self.signal(work)?.unwrap_or(2);
        self.store.save(trainer.into(), self.face)?;
        let step = trainer.step;
        self.early = Some(Early::Interrupted(step));
        self.page(trainer.into(), None, RunState::Interrupted);
        self.face.event(&Event::Interrupted { step, kept: self.store.kept() });
        Err(RunError::Signal(signal))
    }

    /// The signal that came to any of the processes, if one did. All ask at the same place.
    fn signal(&mut self, work: &mut dyn Work) -> Result<Option<u8>> {
        let pending = self.face.signal();
        let all = work.gather(&[pending.unwrap_or(0)])?;
        Ok(all.into_iter().find(|&of| of != 0))
    }

    /// A text in the run's folder.
    pub(super) fn write(&mut self, run: Snapshot<'_>) -> Result<()> {
        self.store.find_folder(run.step, self.face)?;
        let journal = &self.store.journal;
        self.face.sample(run, &mut |sample| {
            Ok(journal.as_ref().map_or(Ok(()), |journal| journal.samples.push(sample))?)
        })
    }

    /// Opens the log in the run's folder, if it has one, does this, and writes down how it ended if that was not well.
    pub(super) fn ended_or_not<T>(
        &mut self,
        plan: &mut Plan,
        run: impl FnOnce(&mut Self, &mut Plan) -> Result<T>,
    ) -> Result<T> {
        self.store.open_journal(plan, self.options, self.identity, self.face)?;
        let ended = run(self, plan);
        match &ended {
            // What went wrong is best seen in the curves.
            Err(e) if e.is_divergence() => {
                self.early = Some(Early::Diverged(e.message()));
                self.page((&plan.trainer).into(), None, RunState::Diverged);
            }
            Ok(_) | Err(RunError::Signal(_)) => {}
            Err(_) => {
                if let Some(journal) = &mut self.store.journal {
                    let _ = journal.write_info(RunState::Failed);
                }
            }
        }
        ended
    }

    /// How a run stands whose steps are done.
    pub(super) fn state(&self) -> RunState {
        if self.early.is_some() { RunState::Stopped } else { RunState::Done }
    }

    /// The page in the run's folder, and what the run is. Without it nothing of the run is lost.
    pub(super) fn page(&mut self, run: Snapshot<'_>, report: Option<&Report>, state: RunState) {
        let Training { face, store, clock, early, .. } = self;
        let last = store.kept().file().map(Path::to_path_buf);
        let best = store.keeper.best().and(store.keeper.best_path());
        let ending = PageEnding {
            report,
            seconds: clock.begin.elapsed().as_secs_f64(),
            checkpoints: last.into_iter().chain(best).collect(),
            early: early.as_ref(),
        };
        let best = store.keeper.best();
        let Some(journal) = &mut store.journal else { return };
        if let Some(report) = report {
            journal.result(run.step, report);
        }
        journal.info.best = best;
        match journal.report(run, ending, state, *face) {
            Ok(Some(path)) if state != RunState::Running => face.event(&Event::Page(&path)),
            Ok(_) => {}
            Err(e) => face.event(&Event::NoPage(&e)),
        }
    }

    /// What there is now.
    pub(super) fn done(&mut self, plan: &Plan, report: Option<&Report>) {
        let seconds = self.clock.begin.elapsed().as_secs_f64();
        self.face.event(&Event::Done { plan, seconds, report, kept: self.store.kept() });
        let deadline = self.deadline.filter(|_| self.early.is_none());
        if let Some(unused) = deadline.and_then(|of| of.unused(seconds, plan.trainer.step)) {
            self.face.event(&Event::Unused(&unused));
        }
        if plan.steps > 0 {
            self.page((&plan.trainer).into(), report, self.state());
            self.face.event(&Event::Next { plan, kept: self.store.kept() });
        }
    }
}
