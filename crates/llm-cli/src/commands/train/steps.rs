//! What a run of the command line does during the loop: reports, measurements, saves, samples, and
//! reasons to stop.

use super::journal::Journal;
use super::{Training, advice_on_rate};
use crate::crew::crew_of;
use crate::error::{Result, RunError};
use crate::generation::Request;
use crate::progress::Progress;
use llm_core::checkpoint::Snapshot;
use llm_core::crew::{Alone, Crew};
use llm_core::train::{
    Ending, Evaluation, Flow, Hooks, RunPlan, SPIKE_WINDOW, Scored, Spike, SpikeGuard, StepReport,
    TimeLimit, Verdict,
};
use llm_run::data::{Data, Report};
use llm_run::defaults::{INTERVAL, LOG_EVERY, PERIODIC_TOKENS};
use llm_run::log::RunState;
use llm_run::plan::Plan;

impl Training<'_> {
    /// All steps, or as many as there is time and hope for.
    pub(super) fn steps(&mut self, plan: &mut Plan, request: &Request) -> Result<Ending> {
        let (trainer, Some(data)) = (&mut plan.trainer, &plan.data) else {
            return Err(RunError::Internal("a run without data".into()));
        };
        let args = self.args;
        let [eval_every, save_every] =
            [args.eval_every, args.save_every].map(|every| every.unwrap_or(INTERVAL));
        let run = RunPlan { eval_every, save_every, ..RunPlan::new(plan.steps) };
        let log_every = args.log_every.unwrap_or(LOG_EVERY);
        let progress = match self.is_one_of_many {
            true => Progress::bar_alone(plan.steps),
            false => Progress::new(&args.output, log_every, plan.steps),
        };
        let mut guard = args.recipe.skip_spikes.map(SpikeGuard::new);
        if let (Some(guard), Some(journal)) = (&mut guard, &self.journal) {
            journal.remind(guard);
        }
        let begin = self.clock.begin;
        let limit = self.clock.for_steps().map(|most| TimeLimit::since(begin, most));
        let clipped = trainer.recipe.clip > 0.0;
        let mut watched = Watched {
            session: self,
            data,
            request,
            progress,
            guard,
            limit,
            skipped_in_a_row: 0,
            report: None,
            done: 0,
        };
        let ending = trainer.run(&data.train, &run, &mut watched);
        watched.progress.finish();
        match ending {
            Ok(Ending::Interrupted) => {
                self.before_saving(trainer)?;
                Err(self.interrupted(trainer))
            }
            Ok(ending) => Ok(ending),
            Err(own @ llm_core::Error::Hook(_)) => Err(RunError::of_hook(own)),
            Err(e) => Err(RunError::hint(e, self.kept(advice_on_rate(clipped)))),
        }
    }
}

/// A run as the command line watches it.
struct Watched<'a, 'b> {
    session: &'a mut Training<'b>,
    data: &'a Data,
    request: &'a Request,
    progress: Progress,
    guard: Option<SpikeGuard>,
    limit: Option<TimeLimit>,
    /// Steps that the guard left out in a row.
    skipped_in_a_row: u32,
    /// The last measurement.
    report: Option<Report>,
    /// Steps of this command.
    done: u64,
}

impl Watched<'_, '_> {
    fn say_skipped(&self, step: u64, spike: Spike) {
        self.progress.line(&format!(
            "step {step} skipped: loss {:+.1}, gradient norm {:+.1} standard deviations from the \
             last {SPIKE_WINDOW}",
            spike.loss_z, spike.norm_z,
        ));
    }
}

impl Hooks for Watched<'_, '_> {
    fn crew(&mut self) -> Option<&mut dyn Crew> {
        self.session.team.as_mut().map(|team| team.crew())
    }

    fn interrupted(&mut self) -> bool {
        self.session.signals.pending().is_some()
    }

    fn check(&mut self, report: &StepReport) -> llm_core::Result<Verdict> {
        let Some(guard) = &mut self.guard else { return Ok(Verdict::Update) };
        let spike = guard.compare(report.loss, report.grad_norm);
        let mut mine = [u8::from(spike.is_some()), guard.in_a_row().min(u8::MAX.into()) as u8];
        if let Some(team) = &mut self.session.team {
            mine = team.of_first(mine)?; // which alone may remember the steps of an earlier run
        }
        let [skip, in_a_row] = mine;
        self.skipped_in_a_row = in_a_row.into();
        if let Some(spike) = spike {
            self.say_skipped(report.step, spike);
        }
        Ok(if skip == 0 { Verdict::Update } else { Verdict::Skip })
    }

    fn after_step(&mut self, run: Snapshot<'_>, report: &StepReport) -> llm_core::Result<Flow> {
        let skipped = self.skipped_in_a_row;
        if skipped >= SpikeGuard::MOST_IN_A_ROW {
            let kept = self.session.kept(advice_on_rate(run.recipe.clip > 0.0));
            return Err(RunError::Spikes { step: run.step, skipped, kept: kept.into() }.in_hook());
        }
        self.done += 1;
        self.progress.step(self.done, report, &mut self.session.out);
        let rate = self.progress.rate();
        let logged = self.session.journal.as_mut().map_or(Ok(()), |j| j.step(report, rate));
        match logged {
            // The log may have gone away with its folder, which is found again.
            Err(_) if matches!(self.session.find_folder(run.step), Ok(true)) => {}
            Err(e) => return Err(self.session.with_kept(e, "make room there").in_hook()),
            Ok(()) => {}
        }
        if self.session.journal.as_ref().is_some_and(Journal::page_is_due) {
            let Watched { session, progress, .. } = self;
            progress.aside(|| session.report(run, None, RunState::Running));
            progress.resume();
        }
        Ok(Flow::Continue(()))
    }

    fn evaluate(&mut self, run: Snapshot<'_>) -> llm_core::Result<Option<Evaluation>> {
        let Some(val) = &self.data.val else { return Ok(None) };
        let (clock, signals) = (self.session.clock, self.session.signals.clone());
        let stop = |_, _, _: &Scored<'_>| signals.pending().is_some() || clock.is_up();
        let (model, batch_size, mut nobody) = (run.model, run.recipe.batch_size, Alone);
        let crew = crew_of(&mut self.session.team, &mut nobody);
        let report = val.score_together(crew, model, batch_size, PERIODIC_TOKENS, stop);
        let report = report.map_err(RunError::in_hook)?;
        let evaluation = report.evaluation;
        // One that was cut says nothing beside the others.
        if evaluation.tokens < val.tokens_of(PERIODIC_TOKENS) as u64 {
            return Ok(None);
        }
        self.report = Some(report);
        Ok(Some(evaluation))
    }

    fn evaluated(&mut self, run: Snapshot<'_>, evaluation: &Evaluation) -> llm_core::Result<Flow> {
        if let Some(report) = &self.report {
            self.progress.eval(run.step, report, &mut self.session.out);
        }
        if let Some(journal) = &mut self.session.journal {
            journal.val_loss(run.step, evaluation.loss);
        }
        self.session.keep_best(evaluation.loss, run).map_err(RunError::in_hook)?;
        self.progress.resume();
        let most = self.session.args.recipe.patience;
        let enough = most.is_some_and(|most| self.session.keeper.worse() >= most);
        Ok(if enough { Flow::Break(Ending::NoProgress) } else { Flow::Continue(()) })
    }

    fn save(&mut self, run: Snapshot<'_>) -> llm_core::Result<()> {
        let Watched { session, progress, .. } = self;
        progress.aside(|| session.store(run)).map_err(RunError::in_hook)?;
        progress.resume();
        Ok(())
    }

    fn before_next(&mut self, run: Snapshot<'_>, left: u64) -> llm_core::Result<Flow> {
        let every = self.session.args.sample_every.unwrap_or(0);
        if !self.session.follows() && every > 0 && run.step.is_multiple_of(every) {
            let Watched { session, progress, request, .. } = self;
            progress.aside(|| session.write(run, request)).map_err(RunError::in_hook)?;
            progress.resume();
        }
        self.limit.as_mut().map_or(Ok(Flow::Continue(())), |limit| limit.before_next(run, left))
    }
}
