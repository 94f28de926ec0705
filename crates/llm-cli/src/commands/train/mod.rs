//! No verb: train, then the probes, then save, then write; each if asked for.

mod journal;
mod keep;
mod overfit;
mod steps;

use super::{banner, eval::facts_table};
use crate::args::TrainArgs;
use crate::console::{Out, note};
use crate::data::Report;
use crate::defaults::{FINAL_TOKENS, PERIODIC_TOKENS};
use crate::error::{CliError, Result};
use crate::escape::one_line;
use crate::events::{self, Event};
use crate::lang::Bilingual;
use crate::plan::Plan;
use crate::probes;
use crate::program::Program;
use crate::report;
use crate::signals::Signals;
use crate::target::Target;
use crate::text::Request;
use crate::typed;
use journal::Journal;
use llm_core::checkpoint::Snapshot;
use llm_core::checkpoint::{self, TokenizerSpec};
use llm_core::train::{Ending, Keeper, Trainer};
use llm_formats::FormatError;
use llm_run_log::Sample;
use std::path::Path;
use std::time::Instant;

/// The whole command.
///
/// # Errors
/// Each with its exit code; what is kept is said.
pub fn train(program: &Program, args: &TrainArgs, threads: usize) -> Result<()> {
    let start = Instant::now();
    let mut plan = Plan::new(program, args)?;
    let opening = plan.data.as_ref().and_then(|d| d.opening.as_deref());
    let request =
        Request::new(&args.sampling, &plan.text, &plan.tokenizer, plan.sample_seed, opening)?;
    let dry = args.dry_run.unwrap_or(false);
    // A dry run tries a named file, and makes no folder.
    let target = if dry && args.save.is_none() { None } else { plan.target(args)? };
    let signals = Signals::listen();
    let (json, quiet) = (args.output.json(), args.output.quiet());
    let run = target.as_ref().and_then(|t| t.run.as_deref());
    let tokenizer = TokenizerSpec::of(plan.tokenizer.as_ref());
    let keeper = match run.map(|run| run.join("ckpt")) {
        Some(folder) => Keeper::new(&folder, tokenizer.clone())
            .with_best(keep::read_best(&folder, plan.trainer.step)),
        None => Keeper::nowhere(tokenizer.clone()),
    };
    let keeper =
        keeper.with_numbered(args.keep.unwrap_or(0)).with_optimizer(args.save_opt.unwrap_or(true));
    let mut session = Session {
        program,
        args,
        json,
        quiet,
        out: Out::default(),
        signals,
        keeper,
        tokenizer,
        journal: None,
        target,
        saved: None,
        start,
        early: None,
    };

    session.emit(&banner::start_event(program, &plan, threads));
    banner::loaded(&plan).iter().for_each(|line| session.say(line));
    if dry || plan.steps > 0 {
        banner::lines(program, &plan, threads).iter().for_each(|line| session.say(line));
    }
    if !dry {
        session.open_journal(&plan, threads)?;
        session.go(&mut plan, &request)?;
    }
    session.out.finish()
}

/// Is this a data file that could be opened and then no longer be read?
fn lost_data(e: &llm_core::Error) -> bool {
    matches!(e, llm_core::Error::Io { action: "go on reading", .. })
}

/// Did the numbers of training itself end it?
fn diverged(e: &CliError) -> bool {
    match e {
        CliError::Core { source, .. } => matches!(source, llm_core::Error::Diverged { .. }),
        other => matches!(other, CliError::Spikes { .. }),
    }
}

struct Session<'a> {
    program: &'a Program,
    args: &'a TrainArgs,
    json: bool,
    quiet: bool,
    out: Out,
    signals: Signals,
    keeper: Keeper,
    tokenizer: TokenizerSpec,
    journal: Option<Journal>,
    target: Option<Target>,
    /// Step of the last saved checkpoint.
    saved: Option<u64>,
    /// When the command began.
    start: Instant,
    /// Why there were fewer steps than planned, for the report.
    early: Option<Bilingual>,
}

impl Session<'_> {
    /// In a run's folder everything is written down.
    fn open_journal(&mut self, plan: &Plan, threads: usize) -> Result<()> {
        let run = self.target.as_ref().and_then(|t| t.run.as_deref()).filter(|_| plan.steps > 0);
        let Some(dir) = run else { return Ok(()) };
        let journal = Journal::open(dir, self.program, plan, self.args, threads)?;
        journal.notes().iter().for_each(|line| self.say(line));
        self.journal = Some(journal);
        Ok(())
    }

    fn go(&mut self, plan: &mut Plan, request: &Request) -> Result<()> {
        let trained = plan.steps > 0;
        let mut report = None;
        if self.args.overfit.unwrap_or(false) {
            return self.overfit(plan);
        }
        if trained {
            report = match self.train(plan, request) {
                // Data that cannot be read any more say nothing against the weights.
                Err(CliError::Core { source, .. }) if lost_data(&source) => {
                    self.store((&plan.trainer).into())?;
                    let advice = "put the same file there and go on with --load";
                    return Err(CliError::hint(source, self.kept(advice)));
                }
                // What went wrong is best seen in the curves.
                Err(e) if diverged(&e) => {
                    let why = e.line().trim_start_matches("error: ").to_string();
                    self.early = Some(Bilingual::new(why.clone(), why));
                    self.report(&plan.trainer, None);
                    return Err(e);
                }
                done => done?,
            };
        }
        let trainer = &plan.trainer;
        let checked = match (&plan.probes, &plan.data) {
            (Some(probes), Some(data)) => {
                let (args, out) = (&self.args.probes, &mut self.out);
                probes::run(probes, args, &trainer.model, &data.train, out, self.json)
            }
            _ => Ok(()),
        };
        // Whatever became of the checks, what was trained is saved.
        self.store(trainer.into())?;
        checked?;
        if (trained || self.args.sampling.asked()) && request.n > 0 {
            let written = self.write(trainer.into(), request);
            if let Err(e) = written {
                self.report(&plan.trainer, report.as_ref());
                return Err(e);
            }
        }
        self.done(plan, report.as_ref());
        Ok(())
    }

    /// The steps, and the measurement after them.
    fn train(&mut self, plan: &mut Plan, request: &Request) -> Result<Option<Report>> {
        let ending = self.steps(plan, request)?;
        self.say_ending(&ending, plan.trainer.step);
        self.judge(plan)
    }

    /// Why there were fewer steps than planned, if so.
    fn say_ending(&mut self, ending: &Ending, step: u64) {
        self.early = match ending {
            Ending::AllSteps | Ending::Interrupted => None,
            Ending::TimeIsUp { .. } => Some(Bilingual::new(
                format!("Stopped at step {step}: --max-time was up."),
                format!("在第 {step} 步停止：--max-time 的时间到了。"),
            )),
            Ending::NoProgress => Some(Bilingual::new(
                format!("Stopped at step {step}: the validation loss no longer fell (--patience)."),
                format!("在第 {step} 步停止：验证损失不再下降（--patience）。"),
            )),
        };
        match (ending, self.keeper.best()) {
            (Ending::AllSteps | Ending::Interrupted, _) => {}
            (Ending::TimeIsUp { left }, _) => self.say(&format!(
                "stopped at step {step}: --max-time is up; {left} planned steps are left, --load \
                 goes on with them"
            )),
            (Ending::NoProgress, best) => self.say(&format!(
                "stopped at step {step}: no better validation loss in {} measurements{}",
                self.keeper.worse(),
                best.map_or(String::new(), |b| format!(
                    "; the best was {:.4} at step {}",
                    b.val_loss, b.step
                ))
            )),
        }
    }

    /// The measurement after the last step, of all unseen data.
    fn judge(&mut self, plan: &Plan) -> Result<Option<Report>> {
        let Some(val) = plan.data.as_ref().and_then(|d| d.val.as_ref()) else {
            self.say("no validation data: nothing is known about unseen text");
            return Ok(None);
        };
        let trainer = &plan.trainer;
        let signals = self.signals.clone();
        let stop = || signals.pending().is_some();
        let batch_size = trainer.recipe.batch_size;
        let report = val.score(&trainer.model, batch_size, FINAL_TOKENS, stop)?;
        if self.signals.pending().is_some() {
            return Err(self.interrupted(trainer));
        }
        let step = trainer.step;
        let loss = report.evaluation.loss;
        if let Some(journal) = &mut self.journal {
            journal.val_loss(step, loss);
        }
        // The last state may be the best: measured on as much as the others were.
        let periodic = match report.evaluation.tokens > PERIODIC_TOKENS as u64 {
            true => val.score(&trainer.model, batch_size, PERIODIC_TOKENS, stop)?.evaluation.loss,
            false => loss,
        };
        if self.signals.pending().is_none() {
            self.keep_best(periodic, trainer.into())?;
        }
        self.emit(&Event::Eval { step, scores: (&report).into() });
        self.say(&format!("result  {}", report.summary()));
        let facts = report.facts.as_ref().filter(|f| !f.kinds.is_empty());
        if let (Some(facts), Some(known)) = (facts, &val.stories) {
            self.say(&format!(
                "facts   {:.1} % right on unseen stories · one place {:.1} % · two places {:.1} %",
                100.0 * facts.total().share(),
                100.0 * facts.with_places(1).share(),
                100.0 * facts.with_places(2).share()
            ));
            self.say(&format!(
                "        without reading: most frequent word {:.1} %, last mentioned {:.1} %",
                100.0 * known.most_frequent,
                100.0 * known.last_mentioned
            ));
            facts_table(facts).lines().for_each(|line| self.say(line));
        }
        Ok(Some(report))
    }

    /// Saves, unless this step is saved already or nothing is to be.
    fn store(&mut self, trainer: Snapshot<'_>) -> Result<()> {
        let Some(target) = &self.target else { return Ok(()) };
        // What was saved may have gone away since.
        if self.saved == Some(trainer.step) && target.path.exists() {
            return Ok(());
        }
        self.write_log()?;
        let Some(target) = &self.target else { return Ok(()) };
        let moments = self.moments();
        let path = target.path.clone();
        let save = || checkpoint::save(&path, trainer, &self.tokenizer, moments);
        // A folder that was removed meanwhile is made again, once.
        let mut again = false;
        let saved = save().or_else(|e| {
            target.remake_folder();
            again = true;
            if path.parent().is_some_and(|p| p.exists()) { save() } else { Err(e) }
        });
        if let Err(e) = saved {
            return Err(CliError::hint(e, self.kept("make room there, or choose another --save")));
        }
        self.saved = Some(trainer.step);
        if again {
            self.log_again(trainer.step)?;
        }
        let numbered = self.keeper.number(&path, trainer);
        numbered.map_err(|e| CliError::hint(e, self.kept("make room there")))?;
        let (step, shown) = (trainer.step, path.display().to_string());
        self.emit(&Event::Saved { step, path: &shown });
        let with = if moments { " (with optimizer state)" } else { "" };
        self.say(&format!("saved checkpoint '{}' at step {step}{with}", one_line(&shown)));
        Ok(())
    }

    /// Saves this state as the best one, if that is what the measurement says.
    fn keep_best(&mut self, val_loss: f64, run: Snapshot<'_>) -> Result<()> {
        self.write_log()?;
        let kept = self.keeper.measured(run, val_loss).and_then(|is_best| {
            let path = self.keeper.best_path();
            match (path.as_deref().and_then(Path::parent), self.keeper.best()) {
                (Some(folder), Some(best)) if is_best => keep::write_best(folder, best),
                _ => Ok(()),
            }
        });
        kept.map_err(|e| CliError::hint(e, self.kept("make room there")))
    }

    /// Before any checkpoint is saved: none may know a step that the log does not.
    fn write_log(&mut self) -> Result<()> {
        let logged = self.journal.as_mut().map_or(Ok(()), Journal::flush);
        logged.map_err(|e| self.with_kept(e, "make room there"))
    }

    /// After the run's folder was made again: the log may have gone with the old one.
    fn log_again(&mut self, step: u64) -> Result<()> {
        let Some(journal) = self.journal.as_mut().filter(|j| j.is_gone()) else { return Ok(()) };
        let begun = journal.begin_again(step);
        self.say(&format!(
            "the run's folder was gone and is made again; its log begins after step {step}"
        ));
        begun.map_err(|e| self.with_kept(e, "make room there"))
    }

    /// Are the optimizer's moments saved too?
    fn moments(&self) -> bool {
        self.args.save_opt.unwrap_or(true)
    }

    /// After a signal: save and say so. What the command ends with.
    fn interrupted(&mut self, trainer: &Trainer) -> CliError {
        let signal = self.signals.pending().unwrap_or(2);
        if let Err(e) = self.store(trainer.into()) {
            return e;
        }
        let step = trainer.step;
        self.early = Some(Bilingual::new(
            format!("Interrupted at step {step}; --load goes on from there."),
            format!("在第 {step} 步被中断；可以用 --load 从那里继续。"),
        ));
        self.report(trainer, None);
        match &self.target {
            Some(target) => {
                let path = one_line(&target.path.display().to_string());
                let go_on = typed::load(self.program, target.load_name());
                let data = typed::data(&self.args.data, &self.args.val);
                note(&format!(
                    "interrupted at step {step}, saved '{path}'; go on with {go_on}{data}"
                ));
            }
            None => note(&format!("interrupted at step {step}, nothing saved (--no-save)")),
        }
        CliError::Signal(signal)
    }

    /// The sample at the end.
    fn write(&mut self, trainer: Snapshot<'_>, request: &Request) -> Result<()> {
        self.say(&format!("sample  temperature {}:", request.sampling.temperature));
        let journal = &self.journal;
        let keep = |sample: &Sample| {
            if let Some(Err(e)) = journal.as_ref().map(|journal| journal.sample(sample)) {
                note(&format!("a sample is not kept: {}", e.line().trim_start_matches("error: ")));
            }
        };
        let (model, signals) = (trainer.model, &self.signals);
        request.write(model, trainer.step, &mut self.out, signals, self.json, keep)
    }

    /// The page in the run's folder. Without it nothing of the run is lost.
    fn report(&mut self, trainer: &Trainer, report: Option<&Report>) {
        let Some(journal) = &mut self.journal else { return };
        let shown = |path: &Path| one_line(&path.display().to_string());
        let last = self.target.as_ref().map(|target| shown(&target.path));
        let best = self.keeper.best().and(self.keeper.best_path()).map(|path| shown(&path));
        let ending = report::run::Ending {
            report,
            seconds: self.start.elapsed().as_secs_f64(),
            checkpoints: last.into_iter().chain(best).collect(),
            early: self.early.clone(),
            ..Default::default()
        };
        match journal.report(trainer, ending) {
            Ok(path) => self.say(&format!("report  {}", shown(&path))),
            Err(e) => note(&format!("no report: {}", e.line().trim_start_matches("error: "))),
        }
    }

    /// What there is now, and what to type next.
    fn done(&mut self, plan: &Plan, report: Option<&Report>) {
        let seconds = self.start.elapsed().as_secs_f64();
        let path = self.target.as_ref().map(|t| t.path.display().to_string());
        let (step, scores) = (plan.trainer.step, report.map(Into::into));
        self.emit(&Event::Done { step, scores, seconds, checkpoint: path.as_deref() });
        if plan.steps == 0 {
            return;
        }
        self.say(&format!("done    step {step} in {seconds:.1} s"));
        let Some(target) = &self.target else { return };
        let opening = plan.data.as_ref().and_then(|d| d.opening.as_deref());
        let prompt = typed::prompt(opening, plan.tokenizer.as_ref());
        let (name, load) = (typed::program(self.program), typed::load_flag(target.load_name()));
        let data = typed::data(&self.args.data, &self.args.val);
        self.say(&format!("saved   {}", one_line(&target.path.display().to_string())));
        if let (Some(best), Some(path)) = (self.keeper.best(), self.keeper.best_path()) {
            self.say(&format!(
                "best    {} of step {}, measured validation loss {:.4}",
                one_line(&path.display().to_string()),
                best.step,
                best.val_loss
            ));
        }
        self.report(&plan.trainer, report);
        match llm_formats::hugging_face::check_model(&plan.trainer.model) {
            Err(FormatError::HeadBias) => self.say("note    cannot go to Hugging Face: GPT-2 has no head bias (train with --head-bias 0)"),
            Err(other) => self.say(&format!("note    cannot go to Hugging Face: {other}")),
            Ok(()) => {}
        }
        self.say(&format!("next    {name} generate{load}{prompt} -n 200"));
        self.say(&format!("        {name}{load}{data} --steps 500"));
    }

    /// An error of the library with what is safe.
    fn with_kept(&self, e: CliError, advice: &str) -> CliError {
        match e {
            CliError::Core { source, .. } => CliError::hint(source, self.kept(advice)),
            other => other,
        }
    }

    /// What is safe when something fails, and what to do.
    fn kept(&self, advice: &str) -> String {
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

    fn say(&self, line: &str) {
        if !self.quiet {
            note(line);
        }
    }

    fn emit(&mut self, event: &Event<'_>) {
        if self.json {
            self.out.write(&events::line(event));
        }
    }
}
