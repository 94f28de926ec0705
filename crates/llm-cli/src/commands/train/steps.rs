//! The loop: steps, and on the way reports, measurements, saves, samples and reasons to stop.

use super::{Ending, Session};
use crate::data::Data;
use crate::defaults::{INTERVAL, LOG_EVERY, PERIODIC_TOKENS};
use crate::error::{CliError, Result};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::text::Request;
use llm_core::train::{SpikeGuard, StepReport, Trainer, Watch};
use std::time::Instant;

impl Session<'_> {
    /// All steps, or as many as there is time and hope for.
    pub(super) fn steps(&mut self, plan: &mut Plan, request: &Request) -> Result<Ending> {
        let steps = plan.steps;
        let (trainer, Some(data)) = (&mut plan.trainer, &plan.data) else {
            return Err(CliError::Internal("a run without data".into()));
        };
        let args = self.args;
        let due = |local: u64, every| every > 0 && local.is_multiple_of(every) && local < steps;
        let [eval_every, save_every] =
            [args.eval_every, args.save_every].map(|every| every.unwrap_or(INTERVAL));
        let begin = Instant::now();
        let mut progress = Progress::new(&args.output, args.log_every.unwrap_or(LOG_EVERY), steps);
        let mut guard = args.recipe.skip_spikes.map(SpikeGuard::new);
        if let (Some(guard), Some(journal)) = (&mut guard, &self.journal) {
            journal.remind(guard);
        }
        for local in 1..=steps {
            let Some(report) = self.step(trainer, data, guard.as_mut(), &mut progress)? else {
                progress.finish();
                return Err(self.interrupted(trainer));
            };
            progress.step(local, &report, &mut self.out);
            let logged = self.journal.as_mut().map_or(Ok(()), |j| j.step(&report, progress.rate()));
            logged.map_err(|e| self.with_kept(e, "make room there"))?;
            if due(local, eval_every) && !self.measure(trainer, data, &mut progress)? {
                progress.finish();
                return Ok(Ending::NoProgress);
            }
            if self.signals.pending().is_some() {
                progress.finish();
                return Err(self.interrupted(trainer));
            }
            if due(local, save_every) {
                progress.aside(|| self.store(trainer))?;
                progress.resume();
            }
            if due(local, args.sample_every.unwrap_or(0)) {
                progress.aside(|| self.write(trainer, request))?;
                progress.resume();
            }
            if args.recipe.max_time.is_some_and(|most| begin.elapsed() >= most) && local < steps {
                progress.finish();
                return Ok(Ending::TimeIsUp { left: steps - local });
            }
        }
        progress.finish();
        Ok(Ending::AllSteps)
    }

    /// One step; `None` after a signal between two micro-batches.
    fn step(
        &mut self,
        trainer: &mut Trainer,
        data: &Data,
        mut guard: Option<&mut SpikeGuard>,
        progress: &mut Progress,
    ) -> Result<Option<StepReport>> {
        let signals = &self.signals;
        let stop = || signals.pending().is_some();
        let mut spike = None;
        let mut skip = |report: &StepReport| {
            spike = guard.as_mut().and_then(|g| g.judge(report.loss, report.grad_norm));
            spike.is_some()
        };
        let before = trainer.step;
        let watch = Watch { stop: &stop, skip: &mut skip };
        let done = trainer.watched_step(&data.train, watch);
        if let Some(spike) = spike {
            progress.line(&format!(
                "step {} skipped: loss {:+.1}, gradient norm {:+.1} standard deviations from the \
                 last {}",
                before + 1,
                spike.loss_z,
                spike.norm_z,
                llm_core::train::SPIKE_WINDOW
            ));
        }
        let in_a_row = guard.map_or(0, |g| g.in_a_row());
        let clipped = trainer.recipe.clip > 0.0;
        let advice = if clipped { "try a lower --lr" } else { "try a lower --lr, or --clip 1" };
        match done {
            Ok(_) if in_a_row >= SpikeGuard::MOST_IN_A_ROW => {
                progress.finish();
                let kept = self.kept(advice);
                Err(CliError::Spikes { step: trainer.step, skipped: in_a_row, kept })
            }
            Ok(report) => Ok(report),
            Err(e) => {
                progress.finish();
                Err(CliError::hint(e, self.kept(advice)))
            }
        }
    }

    /// The validation loss on the way; false: it has not fallen for too long.
    fn measure(&mut self, trainer: &Trainer, data: &Data, progress: &mut Progress) -> Result<bool> {
        let Some(val) = &data.val else { return Ok(true) };
        let stop = || self.signals.pending().is_some();
        let report = val.score(&trainer.model, trainer.recipe.batch_size, PERIODIC_TOKENS, stop)?;
        if self.signals.pending().is_none() {
            progress.eval(trainer.step, &report, &mut self.out);
            let loss = report.evaluation.loss;
            if let Some(journal) = &mut self.journal {
                journal.val_loss(trainer.step, loss);
            }
            self.keep_best(loss, trainer)?;
        }
        progress.resume();
        Ok(self.args.recipe.patience.is_none_or(|most| self.keeper.worse() < most))
    }
}
