//! What a run says when it ends: why, what there is now, what to type next.

use super::Training;
use crate::console::note;
use crate::error::{RunError, reason};
use crate::events::Event;
use crate::messages::train as say;
use crate::next_commands;
use crate::report;
use llm_core::checkpoint::Snapshot;
use llm_core::message;
use llm_core::train::{Ending, Trainer};
use llm_run::data::Report;
use llm_run::escape::one_line;
use llm_run::log::RunState;
use llm_run::plan::Plan;
use std::path::Path;

impl Training<'_> {
    /// Why there were fewer steps than planned, if so.
    pub(super) fn say_ending(&mut self, ending: &Ending, step: u64) {
        self.early = match ending {
            Ending::AllSteps | Ending::Interrupted => None,
            Ending::TimeIsUp { .. } => Some(say::time_is_up(step)),
            Ending::NoProgress => Some(say::no_progress(step)),
        };
        match (ending, self.keeper.best()) {
            (Ending::AllSteps | Ending::Interrupted, _) => {}
            (Ending::TimeIsUp { left }, _) => self.say(message!(
                "stopped at step {}: --max-time is up; {} planned steps are left, --load \
                 goes on with them",
                step,
                left
            )),
            (Ending::NoProgress, best) => self.say(message!(
                "stopped at step {}: no better validation loss in {} measurements{}",
                step,
                self.keeper.worse(),
                best.map_or(String::new(), |b| format!(
                    "; the best was {:.4} at step {}",
                    b.val_loss, b.step
                ))
            )),
        }
    }

    /// After a signal: save and say so. What the command ends with.
    pub(super) fn interrupted(&mut self, trainer: &Trainer) -> RunError {
        let signal = match self.signal() {
            Ok(signal) => signal.unwrap_or(2),
            Err(e) => return e,
        };
        if let Err(e) = self.store(trainer.into()) {
            return e;
        }
        let step = trainer.step;
        self.early = Some(say::interrupted(step));
        self.report(trainer.into(), None, RunState::Interrupted);
        match &self.target {
            Some(target) => {
                let path = one_line(&target.path.display().to_string());
                let go_on = next_commands::load(self.program, target.load_name());
                let data = self.data_flags();
                note(message!(
                    "interrupted at step {}, saved '{}'; go on with {}{}",
                    step,
                    path,
                    go_on,
                    data
                ));
            }
            None => note(message!("interrupted at step {}, nothing saved (--no-save)", step)),
        }
        RunError::Signal(signal)
    }

    /// The text to give again with `--load`. A run's folder remembers its files; what came through
    /// a pipe cannot be read again by its name.
    fn data_flags(&self) -> String {
        let [data, val] = [&self.args.data, &self.args.val];
        let piped = data.iter().chain(val).any(|path| path.as_os_str() == "-");
        let remembered = self.target.as_ref().is_some_and(|t| t.run.is_some()) && !piped;
        if remembered { String::new() } else { next_commands::data(data, val) }
    }

    /// How a run stands whose steps are done.
    pub(super) fn ended(&self) -> RunState {
        if self.early.is_some() { RunState::Stopped } else { RunState::Done }
    }

    /// The page in the run's folder, and what the run is. Without it nothing of the run is lost.
    pub(super) fn report(&mut self, run: Snapshot<'_>, report: Option<&Report>, state: RunState) {
        let ending = self.ending(report);
        let Some(journal) = &mut self.journal else { return };
        if let Some(report) = report {
            journal.result(run.step, report);
        }
        journal.best(self.keeper.best());
        match journal.report(run, ending, state) {
            Ok(path) if state != RunState::Running => {
                self.say(message!("report  {}", one_line(&path.display().to_string())));
            }
            Ok(_) => {}
            Err(e) => note(message!("no report: {}", reason(&e))),
        }
    }

    /// What a page says about the end.
    fn ending<'r>(&self, report: Option<&'r Report>) -> report::run::Ending<'r> {
        let shown = |path: &Path| one_line(&path.display().to_string());
        let last = self.target.as_ref().map(|target| shown(&target.path));
        let best = self.keeper.best().and(self.keeper.best_path()).map(|path| shown(&path));
        report::run::Ending {
            report,
            seconds: self.clock.begin.elapsed().as_secs_f64(),
            checkpoints: last.into_iter().chain(best).collect(),
            early: self.early.clone(),
            ..Default::default()
        }
    }

    /// What ended the run by something else than its numbers or a signal.
    pub(super) fn failed(&mut self) {
        if let Some(journal) = &mut self.journal {
            let _ = journal.write_info(RunState::Failed);
        }
    }

    /// What there is now, and what to type next.
    pub(super) fn done(&mut self, plan: &Plan, report: Option<&Report>) {
        let seconds = self.clock.begin.elapsed().as_secs_f64();
        let path = self.target.as_ref().map(|t| t.path.display().to_string());
        let (step, scores) = (plan.trainer.step, report.map(Into::into));
        self.emit(&Event::Done { step, scores, seconds, checkpoint: path.as_deref() });
        if plan.steps == 0 {
            return;
        }
        self.say(message!("done    step {} in {:.1} s", step, seconds));
        let Some(target) = &self.target else { return };
        let opening = plan.data.as_ref().and_then(|d| d.opening.as_deref());
        let prompt = next_commands::prompt(opening, plan.tokenizer.as_ref());
        let (name, load) =
            (next_commands::program(self.program), next_commands::load_flag(target.load_name()));
        let data = self.data_flags();
        let saved = format!("saved   {}", one_line(&target.path.display().to_string()));
        if self.quiet {
            self.tell(&saved)
        } else {
            self.say(&saved)
        }
        if let (Some(best), Some(path)) = (self.keeper.best(), self.keeper.best_path()) {
            self.say(message!(
                "best    {} of step {}, measured validation loss {:.4}",
                one_line(&path.display().to_string()),
                best.step,
                best.val_loss
            ));
        }
        self.report((&plan.trainer).into(), report, self.ended());
        self.say(message!("next    {} generate{}{} -n 200", name, load, prompt));
        let learns = plan.trainer.recipe.schedule.at(step) > 0.0;
        let rate = if learns { "" } else { " --schedule constant" };
        self.say(message!("        {}{}{} --steps 500{}", name, load, data, rate));
    }
}
