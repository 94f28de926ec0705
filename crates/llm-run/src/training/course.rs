//! What is done between the steps: reports, measurements, saves, texts, and reasons to stop.

use super::Training;
use super::event::Event;
use super::kinds::advice_on_rate;
use super::measuring::measure_some;
use crate::data::{Data, Report};
use crate::defaults::{INTERVAL, LOG_EVERY, PERIODIC_TOKENS};
use crate::error::{Result, RunError};
use crate::log::{Compared, Paired, RunState};
use crate::plan::Plan;
use crate::rewards::Latest;
use llm_core::checkpoint::Snapshot;
use llm_core::train::{
    Ending, Evaluation, Flow, Hooks, RunPlan, SpikeGuard, StepReport, TimeLimit, Verdict, Work,
};
use llm_core::{Error, message};
use std::time::Instant;

impl Training<'_> {
    /// All steps, or as many as there is time and hope for.
    pub(super) fn steps(&mut self, plan: &mut Plan, work: &mut dyn Work) -> Result<Ending> {
        let (trainer, Some(data)) = (&mut plan.trainer, &plan.data) else {
            return Err(RunError::Internal(message!("a run without data")));
        };
        let habits = &self.options.habits;
        let [eval_every, save_every] =
            [habits.eval_every, habits.save_every].map(|every| every.unwrap_or(INTERVAL));
        let run = RunPlan { eval_every, save_every, ..RunPlan::new(plan.steps) };
        let mut guard = habits.skip_spikes.map(SpikeGuard::new);
        if let (Some(guard), Some(journal)) = (&mut guard, &self.store.journal) {
            journal.remind(guard);
        }
        let begin = self.clock.begin;
        let limit = self.clock.for_steps().map(|most| TimeLimit::since(begin, most));
        let clipped = trainer.recipe.clip > 0.0;
        let pace = Pace::new(habits.log_every.unwrap_or(LOG_EVERY), plan.steps);
        let mut course = Course {
            run: self,
            data,
            is_first: work.rank() == 0,
            guard,
            limit,
            after_first: None,
            pace,
            skipped_in_a_row: 0,
            report: None,
            page_is_due: false,
            differed: false,
        };
        course.run.face.event(&Event::Begin(plan.steps));
        if trainer.step == 0 {
            course.run.asked((&*trainer).into())?;
            course.resume();
        }
        match trainer.run(&data.train, &run, work, &mut course) {
            Ok(Ending::Interrupted) => {
                work.before_saving(&trainer.model, trainer.optimizer.as_mut())?;
                self.interrupted(trainer, work)
            }
            Ok(ending) => Ok(ending),
            // A program that judges says no number: what was learned before is kept.
            Err(own @ Error::Hook(_)) if self.rewards.is_some() => {
                work.before_saving(&trainer.model, trainer.optimizer.as_mut())?;
                self.store.save((&*trainer).into(), self.face)?;
                Err(match RunError::of_hook(own) {
                    RunError::Data(why) if work.rank() == 0 => {
                        let kept = self.store.safe(message!("{load} goes on"));
                        RunError::Data(message!("{}; {}", why, kept))
                    }
                    other => other,
                })
            }
            Err(own @ Error::Hook(_)) => Err(RunError::of_hook(own)),
            Err(e) => {
                let advice = match e {
                    Error::Device(_) => message!("{load} goes on, with or without {device}"),
                    _ => advice_on_rate(clipped),
                };
                Err(RunError::hint(e, self.store.safe(advice)))
            }
        }
    }
}

/// A run as it is watched from step to step.
struct Course<'r, 'a> {
    run: &'r mut Training<'a>,
    data: &'r Data,
    /// Rank 0 of those who work.
    is_first: bool,
    guard: Option<SpikeGuard>,
    limit: Option<TimeLimit>,
    /// When the first step was done: it finds caches and buffers empty.
    after_first: Option<Instant>,
    pace: Pace,
    /// Steps that the guard left out in a row.
    skipped_in_a_row: u32,
    /// The last measurement.
    report: Option<Report>,
    /// The page of this step is written.
    page_is_due: bool,
    /// Whether rewards of answers to one question differed.
    differed: bool,
}

/// Steps without a difference after which it is said that nothing is learned.
const WITHOUT_DIFFERENCE: u64 = 20;

/// How fast steps are, without measurements and saves, and which are reported.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    log_every: u64,
    /// Steps done.
    pub done: u64,
    /// Steps to do.
    pub total: u64,
    since: Instant,
    tokens: u64,
    /// Tokens a second, as last measured.
    pub rate: f64,
}

impl Pace {
    /// For `total` steps, of which each `log_every`-th is reported; 0: none.
    pub fn new(log_every: u64, total: u64) -> Pace {
        Pace { log_every, done: 0, total, since: Instant::now(), tokens: 0, rate: 0.0 }
    }

    /// After a step; whether it is to be reported.
    pub fn step(&mut self, tokens: u64) -> bool {
        self.done += 1;
        self.tokens += tokens;
        let ends = self.done == 1 || self.done == self.total;
        // The speed is written down also where nothing is reported.
        let every = if self.log_every > 0 { self.log_every } else { LOG_EVERY };
        let measured = ends || self.done.is_multiple_of(every);
        if measured {
            let seconds = self.since.elapsed().as_secs_f64().max(1e-9);
            self.rate = self.tokens as f64 / seconds;
            self.resume();
        }
        self.log_every > 0 && measured
    }

    /// Time from now on counts as training.
    fn resume(&mut self) {
        (self.since, self.tokens) = (Instant::now(), 0);
    }
}

impl Course<'_, '_> {
    fn resume(&mut self) {
        self.pace.resume();
        self.run.face.event(&Event::Resumed);
    }

    /// Whether a text is written after this step.
    fn writes_at(&self, step: u64) -> bool {
        let every = self.run.options.habits.sample_every.unwrap_or(0);
        every > 0 && step.is_multiple_of(every)
    }
}

impl Training<'_> {
    /// Asks the questions that stay the same, in a run that learns from rewards and has a folder.
    pub(super) fn asked(&mut self, run: Snapshot<'_>) -> Result<()> {
        let Training { face, store, .. } = self;
        store.find_folder(run.step, *face)?;
        let Some(journal) = &mut store.journal else { return Ok(()) };
        if let Some(moment) = journal.ask(run)? {
            face.event(&Event::Asked(&moment));
        }
        Ok(())
    }
}

impl Hooks for Course<'_, '_> {
    fn waits(&mut self) -> bool {
        self.guard.is_some() || self.run.deadline.is_some()
    }

    fn interrupted(&mut self) -> bool {
        self.run.face.signal().is_some()
    }

    fn check(&mut self, report: &StepReport, work: &mut dyn Work) -> llm_core::Result<Verdict> {
        let Some(guard) = &mut self.guard else { return Ok(Verdict::Update) };
        let spike = guard.compare(report.loss, report.grad_norm);
        let mut mine = [u8::from(spike.is_some()), guard.in_a_row().min(u8::MAX.into()) as u8];
        // Process 0 alone may remember the steps of an earlier run.
        work.broadcast(&mut mine)?;
        let [skip, in_a_row] = mine;
        self.skipped_in_a_row = in_a_row.into();
        if let Some(spike) = spike {
            self.run.face.event(&Event::Skipped { step: report.step, spike });
        }
        Ok(if skip == 0 { Verdict::Update } else { Verdict::Skip })
    }

    fn needs_weights(&mut self, step: u64) -> bool {
        let journal = self.run.store.journal.as_ref();
        self.page_is_due = journal.is_some_and(|journal| Instant::now() >= journal.time.page);
        let looks = journal.is_some_and(|journal| journal.looks_at_heads(step));
        self.page_is_due || looks || self.writes_at(step)
    }

    fn after_step(&mut self, run: Snapshot<'_>, report: &StepReport) -> llm_core::Result<Flow> {
        let skipped = self.skipped_in_a_row;
        if skipped >= SpikeGuard::MOST_IN_A_ROW {
            let kept = self.run.store.safe(advice_on_rate(run.recipe.clip > 0.0));
            return Err(RunError::Spikes { step: run.step, skipped, kept }.in_hook());
        }
        let due = self.pace.step(report.tokens);
        self.after_first.get_or_insert_with(Instant::now);
        let Pace { done, total, rate, .. } = self.pace;
        let Training { face, store, rewards, .. } = &mut *self.run;
        let (rewards, pairs) = rewards.as_ref().map(Latest::take).unwrap_or_default();
        let (rewards, pairs) = (rewards.as_ref(), pairs.as_ref());
        face.event(&Event::Step { report, done, total, rate, due, rewards, pairs });
        if let Some(of) = rewards {
            self.differed |= of.differ > 0.0;
            if !self.differed && done == WITHOUT_DIFFERENCE.min(total) {
                face.event(&Event::Unrewarded { steps: done, reward: of.reward });
            }
        }
        let logged = store.journal.as_mut().map_or(Ok(()), |journal| {
            journal.step(report, rate)?;
            rewards.map_or(Ok(()), |of| journal.rewarded(of))?;
            let pairs = pairs.map(|of| Paired { step: run.step, unseen: false, of: *of });
            pairs.map_or(Ok(()), |of| Ok(journal.paired(&of)?))
        });
        match logged {
            // The log may have gone away with its folder, which is found again.
            Err(_) if matches!(store.find_folder(run.step, *face), Ok(true)) => {}
            Err(e) => return Err(store.with_safe(e).in_hook()),
            Ok(()) => {}
        }
        if let Some(journal) = &self.run.store.journal
            && journal.looks_at_heads(run.step)
        {
            journal.look_at_heads(run.step, run.model)?;
            self.resume();
        }
        if self.page_is_due {
            self.run.page(run, None, RunState::Running);
            self.resume();
        }
        Ok(Flow::Continue(()))
    }

    fn evaluate(
        &mut self,
        run: Snapshot<'_>,
        work: &mut dyn Work,
    ) -> llm_core::Result<Option<Evaluation>> {
        self.run.asked(run).map_err(RunError::in_hook)?;
        let unseen = self.run.compare(run, true, work).map_err(RunError::in_hook)?;
        if let Some(Compared { pairs, loss, accuracy, .. }) = unseen {
            return Ok(Some(Evaluation { loss, accuracy, tokens: pairs }));
        }
        let Some(val) = &self.data.val else { return Ok(None) };
        let Training { face, clock, .. } = &mut *self.run;
        let size = [run.recipe.batch_size, PERIODIC_TOKENS];
        let report = measure_some(work, val, run.model, size, (&mut **face, clock));
        let report = report.map_err(RunError::in_hook)?;
        let evaluation = report.evaluation;
        // One that was cut short is not comparable with the others.
        if evaluation.tokens < val.tokens_of(PERIODIC_TOKENS) as u64 {
            return Ok(None);
        }
        self.report = Some(report);
        Ok(Some(evaluation))
    }

    fn evaluated(&mut self, run: Snapshot<'_>, evaluation: &Evaluation) -> llm_core::Result<Flow> {
        let Training { face, store, options, .. } = &mut *self.run;
        if let Some(report) = &self.report {
            face.event(&Event::Measured { step: run.step, report });
        }
        if let Some(journal) = &mut store.journal {
            journal.log.val_loss(run.step, evaluation.loss);
        }
        store.keep_best(evaluation.loss, run, *face).map_err(RunError::in_hook)?;
        let enough = options.habits.patience.is_some_and(|most| store.keeper.worse() >= most);
        self.resume();
        Ok(if enough { Flow::Break(Ending::NoProgress) } else { Flow::Continue(()) })
    }

    fn save(&mut self, run: Snapshot<'_>) -> llm_core::Result<()> {
        let Training { face, store, .. } = &mut *self.run;
        store.save(run, *face).map_err(RunError::in_hook)?;
        self.resume();
        Ok(())
    }

    fn before_next(&mut self, run: Snapshot<'_>, left: u64) -> llm_core::Result<Flow> {
        if self.is_first && self.writes_at(run.step) {
            self.run.write(run).map_err(RunError::in_hook)?;
            self.resume();
        }
        self.limit.as_mut().map_or(Ok(Flow::Continue(())), |limit| limit.before_next(run, left))
    }

    fn steps_left(
        &mut self,
        run: Snapshot<'_>,
        left: u64,
        work: &mut dyn Work,
    ) -> llm_core::Result<u64> {
        let deadline = self.run.deadline.filter(|of| of.settled_after == run.step);
        let (Some(deadline), Some(first)) = (deadline, self.after_first) else { return Ok(left) };
        let step = first.elapsed().as_secs_f64() / (self.pace.done - 1).max(1) as f64;
        let elapsed = self.run.clock.begin.elapsed().as_secs_f64();
        let mut steps = deadline.steps(run.step, elapsed, step).to_le_bytes();
        work.broadcast(&mut steps)?; // clocks differ
        let (steps, before) = (u64::from_le_bytes(steps), run.step + left);
        if steps != before {
            self.pace.total = self.pace.done + (steps - run.step);
            let Training { face, store, .. } = &mut *self.run;
            let total = self.pace.total;
            face.event(&Event::PlannedAgain { steps, before, total });
            if let Some(journal) = &mut store.journal {
                journal.planned_again(steps).map_err(RunError::in_hook)?;
            }
        }
        Ok(steps - run.step)
    }
}
