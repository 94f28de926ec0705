//! No verb: train, then the probes, then save, then write; each if asked for.

use crate::learning::Learning;
use llm_run::note::Note;
use llm_run::options::Options;
mod alone;
mod ending;
mod estimate;
mod journal;
mod keep;
mod overfit;
mod saving;
mod several;
mod steps;

use super::{banner, eval::facts_table};
use crate::args::{SamplingArgs, TrainArgs};
use crate::console::{Out, note};
use crate::crew::{Lowered, Team, crew_of, said_once};
use crate::error::{Result, RunError, reason};
use crate::events::{self, Event};
use crate::generation::Request;
use crate::lang::Bilingual;
use crate::probes::{self, Probes};
use crate::program::Program;
use crate::scoring::Scoring;
use crate::signals::Signals;
use journal::Journal;
use llm_core::base::{Message, thousands};
use llm_core::checkpoint::{Snapshot, TokenizerSpec};
use llm_core::crew::Alone;
use llm_core::kernels::gemm::Precision;
use llm_core::message;
use llm_core::train::{Keeper, Scored, Trainer};
use llm_core::{Error, IoAction};
use llm_run::clock::TimeBudget;
use llm_run::data::Report;
use llm_run::defaults::PERIODIC_TOKENS;
use llm_run::escape::one_line;
use llm_run::folder::Target;
use llm_run::log::{RunState, Sample};
use llm_run::plan::Plan;
use std::time::Instant;

/// So far above the loss of new weights, in nats a token, no run is by chance.
const WORSE_THAN_EVEN: f64 = 0.5;

/// The whole command.
///
/// # Errors
/// Each with its exit code; what is kept is said.
pub(crate) fn train(
    program: &Program,
    args: &TrainArgs,
    options: &Options,
    threads: usize,
    mut team: Option<&mut Team>,
) -> Result<()> {
    let clock = TimeBudget { begin: Instant::now(), most: args.recipe.max_time };
    if let Some(size) = team.as_ref().map(|team| team.size()).filter(|n| !n.is_power_of_two()) {
        // So many cannot speak with each other: each finds the same.
        let (plan, ..) = planned(program, args, options, Lowered::default()).map_err(said_once)?;
        return several::check_size(args, &plan.trainer.recipe, size).map_err(said_once);
    }
    let lowered = team.as_mut().map_or(Ok(Lowered::default()), |team| team.greet())?;
    let (mut plan, request, probes) =
        agreed(&mut team, || planned(program, args, options, lowered))?;
    if let Some(team) = &mut team {
        several::check_size(args, &plan.trainer.recipe, team.size()).map_err(said_once)?;
        several::check_same(team, args, &plan)?;
        if args.crew.shard_optimizer == Some(true) {
            plan.trainer.divide_optimizer(team.crew())?;
        }
    }
    let dry = args.dry_run.unwrap_or(false);
    let follows = team.as_ref().is_some_and(|team| team.rank() > 0);
    // A dry run tries a named file, and makes no folder; only the first of several saves.
    let target = agreed(&mut team, || match (follows, dry && args.save.is_none()) {
        (true, _) => Ok(None),
        (false, true) => plan.check_target(options).map(|()| None),
        (false, false) => plan.target(options),
    })?;
    let signals = Signals::listen();
    let mut session = Training::new(program, args, &plan, target, signals, clock);
    session.join(team);
    session.probes = probes;

    session.emit(&banner::start_event(program, &plan, threads));
    banner::loaded(&plan).iter().for_each(|line| session.say(line));
    if dry || plan.steps > 0 {
        banner::lines(program, &plan, threads).iter().for_each(|line| session.say(line));
        if let Some(team) = &session.team {
            session.say(&several::line(team.size(), plan.trainer.recipe.accum));
        }
    }
    if dry {
        session.estimate(&mut plan)?;
    } else {
        session.open_journal(&plan, threads)?;
        session.go(&mut plan, &request)?;
    }
    session.out.finish()
}

/// A run, the text after it, and the checks before that.
type Planned = (Plan, Request, Option<Probes>);

/// What will be done.
fn planned(
    program: &Program,
    args: &TrainArgs,
    options: &Options,
    lowered: Lowered,
) -> Result<Planned> {
    alone::refuse_prompt_alone(program, args)?;
    let foreign = args.nano_gpt.notes()?;
    let learning = Learning::new(args.output.quiet());
    let mut plan = learning.watch(|watch| Plan::new(&program.models, options, watch))?;
    let rounded = plan.trainer.recipe.matmul == Precision::Bf16;
    let others = foreign.into_iter().chain(lowered.kernels);
    let others = others.chain(lowered.order.filter(|_| rounded));
    plan.notes.extend(others.map(|line| Note::Said(line.into())));
    let opening = plan.data.as_ref().and_then(|d| d.opening.as_deref());
    let (text, tokenizer) = (&plan.text, &plan.tokenizer);
    let request = Request::new(&args.sampling, text, tokenizer, plan.sample_seed, opening)?;
    request.check_slide(plan.trainer.model.config().seq_len)?;
    let request = request.by(plan.attention);
    let most = plan.trainer.model.config().seq_len;
    let probes = match &plan.data {
        Some(data) => {
            let (len, seq) = (data.train.len(), plan.trainer.recipe.seq_len);
            Probes::new(&args.probes, len, seq, most, plan.sample_seed, &plan.tokenizer)?
        }
        None => None,
    };
    Ok((plan, request, probes))
}

/// What this process did, if all of a crew could.
fn agreed<T>(team: &mut Option<&mut Team>, f: impl FnOnce() -> Result<T>) -> Result<T> {
    let done = f();
    match team {
        Some(team) => team.agree(done),
        None => done,
    }
}

/// Whether a data file could be opened and then no longer be read.
fn lost_data(e: &Error) -> bool {
    matches!(e, Error::Io { action: IoAction::GoOnReading, .. })
}

/// What helps when the numbers of training run away.
pub(super) fn advice_on_rate(clipped: bool) -> &'static str {
    if clipped { "try a lower --lr" } else { "try a lower --lr, or --clip 1" }
}

/// Whether the numbers of training itself ended it.
pub(super) fn diverged(e: &RunError) -> bool {
    matches!(
        e,
        RunError::Core { source: Error::Diverged { .. } | Error::Unusable { .. }, .. }
            | RunError::Spikes { .. }
    )
}

struct Training<'a> {
    program: &'a Program,
    args: &'a TrainArgs,
    json: bool,
    quiet: bool,
    out: Out,
    signals: Signals,
    keeper: Keeper,
    tokenizer: TokenizerSpec,
    judged_on: String,
    journal: Option<Journal>,
    target: Option<Target>,
    /// Step of the last saved checkpoint.
    saved: Option<u64>,
    /// One of several: the others' command speaks for it.
    is_one_of_many: bool,
    /// When the command began, and how long it may take.
    clock: TimeBudget,
    /// Why there were fewer steps than planned, for the report.
    early: Option<Bilingual>,
    /// The other processes that work on it.
    team: Option<&'a mut Team>,
    /// Checks after training.
    probes: Option<Probes>,
}

/// One training of several, in a folder of its own: what was measured at its end, and the seconds
/// of its steps. A bar is all that is seen of it.
///
/// # Errors
/// As [`train`]. After a signal it is saved, and can go on by itself.
pub(super) fn one_of_many(
    program: &Program,
    args: &TrainArgs,
    plan: &mut Plan,
    threads: usize,
    signals: &Signals,
) -> Result<(Report, f64)> {
    let clock = TimeBudget { begin: Instant::now(), most: None };
    let target = plan.target(&args.options())?;
    let no_text = SamplingArgs { n: Some(0), ..SamplingArgs::default() };
    let (text, tokenizer) = (&plan.text, &plan.tokenizer);
    let request = Request::new(&no_text, text, tokenizer, plan.sample_seed, None)?;
    let mut session = Training::new(program, args, plan, target, signals.clone(), clock);
    (session.quiet, session.json, session.is_one_of_many) = (true, false, true);
    session.open_journal(plan, threads)?;
    session.ended_or_not(plan, |session, plan| {
        let measured = session.train(plan, &request)?;
        let report = measured
            .ok_or_else(|| RunError::Internal("a comparison without validation data".into()))?;
        session.store((&plan.trainer).into())?;
        session.report((&plan.trainer).into(), Some(&report), session.ended());
        let seconds = session.journal.as_ref().map_or(0.0, Journal::training_seconds);
        Ok((report, seconds))
    })
}

impl<'a> Training<'a> {
    /// What a run needs besides its plan.
    fn new(
        program: &'a Program,
        args: &'a TrainArgs,
        plan: &Plan,
        target: Option<Target>,
        signals: Signals,
        clock: TimeBudget,
    ) -> Training<'a> {
        let run = target.as_ref().and_then(|t| t.run.as_deref());
        let tokenizer = TokenizerSpec::of(plan.tokenizer.as_ref());
        let judged_on = journal::judged_on(&plan.trainer.recipe, plan.tokenizer.as_ref());
        let keeper = match run.map(|run| run.join("ckpt")) {
            Some(folder) => Keeper::new(&folder, tokenizer.clone()).with_best(keep::read_best(
                &folder,
                plan.trainer.step,
                &judged_on,
            )),
            None => Keeper::nowhere(tokenizer.clone()),
        };
        let keeper = keeper.with_numbered(args.keep.unwrap_or(0));
        let keeper = keeper.with_optimizer(args.save_opt.unwrap_or(true));
        Training {
            program,
            args,
            json: args.output.json(),
            quiet: args.output.quiet(),
            out: Out::default(),
            signals,
            keeper: keeper.best_with_optimizer(args.save_opt == Some(true)),
            tokenizer,
            judged_on,
            journal: None,
            target,
            saved: None,
            is_one_of_many: false,
            clock,
            early: None,
            team: None,
            probes: None,
        }
    }

    /// Works on it with other processes.
    fn join(&mut self, team: Option<&'a mut Team>) {
        self.team = team;
        self.together(true);
    }
}

impl Training<'_> {
    /// In a run's folder everything is written down.
    fn open_journal(&mut self, plan: &Plan, threads: usize) -> Result<()> {
        let run = self.target.as_ref().and_then(|t| t.run.as_deref()).filter(|_| plan.steps > 0);
        let Some(dir) = run else { return Ok(()) };
        let journal = Journal::open(dir, self.program, plan, self.args, threads, &self.judged_on)?;
        journal.notes().iter().for_each(|line| self.say(&one_line(line)));
        self.journal = Some(journal);
        Ok(())
    }

    /// From now on all processes call the same methods, or no longer.
    fn together(&mut self, together: bool) {
        if let Some(team) = &mut self.team {
            team.set_together(together);
        }
    }

    /// The signal that came to any of the processes, if one did. All ask at the same place.
    fn signal(&mut self) -> Result<Option<u8>> {
        let pending = self.signals.pending();
        self.team.as_mut().map_or(Ok(pending), |team| team.first_of(pending))
    }

    /// Makes the state of a run one that can be saved. All processes do it at the same place.
    fn before_saving(&mut self, trainer: &mut Trainer) -> Result<()> {
        let Some(team) = &mut self.team else { return Ok(()) };
        Ok(trainer.before_saving(team.crew())?)
    }

    /// Whether another process prints and saves.
    fn follows(&self) -> bool {
        self.team.as_ref().is_some_and(|team| team.rank() > 0)
    }

    fn go(&mut self, plan: &mut Plan, request: &Request) -> Result<()> {
        if self.args.overfit.unwrap_or(false) {
            return self.overfit(plan);
        }
        self.ended_or_not(plan, |session, plan| session.train_and_save(plan, request))
    }

    /// Does this, and writes down how it ended if that was not well.
    fn ended_or_not<T>(
        &mut self,
        plan: &mut Plan,
        run: impl FnOnce(&mut Self, &mut Plan) -> Result<T>,
    ) -> Result<T> {
        let ended = run(self, plan);
        match &ended {
            // What went wrong is best seen in the curves.
            Err(e) if diverged(e) => {
                let why = reason(&e);
                self.early = Some(Bilingual::new(why.clone(), why));
                self.report((&plan.trainer).into(), None, RunState::Diverged);
            }
            Ok(_) | Err(RunError::Signal(_)) => {}
            Err(_) => self.failed(),
        }
        ended
    }

    fn train_and_save(&mut self, plan: &mut Plan, request: &Request) -> Result<()> {
        let trained = plan.steps > 0;
        let mut report = None;
        if trained {
            report = match self.train(plan, request) {
                // Data that cannot be read any more say nothing against the weights.
                Err(RunError::Core { source, .. }) if lost_data(&source) => {
                    self.store((&plan.trainer).into())?;
                    let advice = "put the same file there and go on with --load";
                    return Err(RunError::hint(source, self.kept(advice)));
                }
                done => done?,
            };
        }
        self.together(false);
        if self.follows() {
            return Ok(());
        }
        let trainer = &plan.trainer;
        let checked = match (&self.probes, &plan.data) {
            (Some(probes), Some(data)) => {
                let (args, out) = (&self.args.probes, &mut self.out);
                probes::run(probes, args, &trainer.model, &data.train, out, self.json)
            }
            _ => Ok(()),
        };
        // Whatever became of the checks, what was trained is saved.
        self.store(trainer.into())?;
        checked?;
        let wanted = self.args.sampling.asked() || (trained && !self.quiet);
        if wanted && request.n > 0 {
            let written = self.write(trainer.into(), request);
            if let Err(e) = written {
                self.report(trainer.into(), report.as_ref(), self.ended());
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
        self.before_saving(&mut plan.trainer)?;
        // A measurement may take longer than the steps did: nothing is lost by it.
        self.store((&plan.trainer).into())?;
        self.measure(plan)
    }

    /// The measurement after the last step.
    fn measure(&mut self, plan: &Plan) -> Result<Option<Report>> {
        let Some(val) = plan.data.as_ref().and_then(|d| d.val.as_ref()) else {
            self.say("no validation data: nothing is known about unseen text");
            return Ok(None);
        };
        let trainer = &plan.trainer;
        let signals = self.signals.clone();
        let scoring = Scoring { quiet: self.quiet, signals: &signals, clock: Some(&self.clock) };
        let batch_size = trainer.recipe.batch_size;
        let (mut nobody, model) = (Alone, &trainer.model);
        let crew = crew_of(&mut self.team, &mut nobody);
        let most = val.most_after(trainer.step, &trainer.recipe);
        let report = scoring.run(crew, val, model, batch_size, most)?;
        if self.signal()?.is_some() {
            return Err(self.interrupted(trainer));
        }
        let step = trainer.step;
        let checked = report.evaluation.check(step);
        checked.map_err(|e| self.not_saved(e, trainer.into(), ""))?;
        // The last state may be the best: measured on as much as the others were.
        let (clock, as_many) = (self.clock, val.tokens_of(PERIODIC_TOKENS) as u64);
        let periodic = match report.evaluation.tokens > PERIODIC_TOKENS as u64 {
            true => {
                let stop = |_, _, _: &Scored<'_>| signals.pending().is_some() || clock.is_up();
                let crew = crew_of(&mut self.team, &mut nobody);
                val.score_together(crew, model, batch_size, PERIODIC_TOKENS, stop)?.evaluation
            }
            false => report.evaluation,
        };
        let comparable = periodic.tokens >= as_many || self.keeper.best().is_none();
        if self.signals.pending().is_none() && comparable {
            self.keep_best(periodic.loss, trainer.into())?;
        }
        self.emit(&Event::Eval { step, scores: (&report).into(), beside: None });
        self.tell(message!("result  {}", report.summary()));
        let even = model.config().first_loss();
        if report.evaluation.loss > even + WORSE_THAN_EVEN {
            let advice = advice_on_rate(trainer.recipe.clip > 0.0);
            self.say(message!(
                "        nothing was learnt: a model that has seen no text has about {:.2}; {}",
                even,
                advice
            ));
        }
        let (scored, all) = (report.evaluation.tokens, val.tokens() as u64);
        if scored < all {
            let (scored, all) = (thousands(scored), thousands(all));
            self.say(message!(
                "        on {} of {} unseen tokens, evenly spaced; eval takes all",
                scored,
                all
            ));
        }
        let facts = report.facts.as_ref().filter(|f| !f.kinds.is_empty());
        if let (Some(facts), Some(known)) = (facts, &val.stories) {
            self.say(message!(
                "facts   {:.1} % right on unseen stories · one place {:.1} % · two places {:.1} %",
                100.0 * facts.total().share(),
                100.0 * facts.with_places(1).share(),
                100.0 * facts.with_places(2).share()
            ));
            self.say(message!(
                "        without reading: most frequent word {:.1} %, last mentioned {:.1} %",
                100.0 * known.most_frequent,
                100.0 * known.last_mentioned
            ));
            facts_table(facts).lines().for_each(|line| self.say(line.to_string()));
        }
        Ok(Some(report))
    }

    /// The sample at the end.
    fn write(&mut self, trainer: Snapshot<'_>, request: &Request) -> Result<()> {
        self.find_folder(trainer.step)?;
        let (step, temperature) = (trainer.step, request.sampling.temperature);
        self.say(message!("sample  after step {}, temperature {}:", step, temperature));
        let journal = &self.journal;
        let keep = |sample: &Sample| {
            if let Some(Err(e)) = journal.as_ref().map(|journal| journal.sample(sample)) {
                note(message!("a sample is not kept: {}", reason(&e)));
            }
        };
        let (model, signals) = (trainer.model, &self.signals);
        request.write(model, trainer.step, &mut self.out, signals, self.json, keep)
    }

    /// What a command is run for, on standard output, however quiet it is to be.
    fn tell(&mut self, line: impl Into<Message>) {
        let line = line.into();
        if self.json || self.is_one_of_many {
            return self.say(line);
        }
        self.out.tell(message!("{}\n", line));
    }

    fn say(&self, line: impl Into<Message>) {
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
