//! No verb: train, then the probes, then save, then write; each if asked for.

mod alone;
mod face;
mod overfit;
mod several;

use super::banner;
use crate::args::TrainArgs;
use crate::crew::{Lowered, Team, members, said_once};
use crate::error::{Result, RunError};
use crate::generation::Request;
use crate::learning::Learning;
use crate::machine::version;
use crate::messages::spelled;
use crate::probes;
use crate::program::Program;
use crate::settings::{beside, head};
use crate::signals::Signals;
use face::Shown;
use llm_core::kernels::gemm::Precision;
use llm_core::message;
use llm_core::train::{OneProcess, ProcessGroup, Work};
use llm_lens::Probes;
use llm_report::About;
use llm_run::budget;
use llm_run::clock::TimeBudget;
use llm_run::data::Report;
use llm_run::device::{self, Device, OnGpu};
use llm_run::note::Note;
use llm_run::options::Options;
use llm_run::plan::Plan;
use llm_run::training::Face;
use llm_run::training::{Identity, Training, estimate};
use std::time::Instant;

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
    let clock = TimeBudget { begin: Instant::now(), most: options.max_time };
    let (options, chosen) = &in_time(program, args, options, &clock)?;
    if let Some(size) = team.as_ref().map(|team| team.size()).filter(|n| !n.is_power_of_two()) {
        // This number of processes cannot communicate: each finds the same.
        let (plan, ..) = planned(program, args, options, Lowered::default()).map_err(said_once)?;
        return several::check_size(args, &plan.trainer.recipe, size).map_err(said_once);
    }
    let lowered = team.as_mut().map_or(Ok(Lowered::default()), |team| team.greet())?;
    let (mut plan, request, probes) =
        agreed(&mut team, || planned(program, args, options, lowered))?;
    plan.notes.splice(..0, chosen.clone());
    if let Some(team) = &mut team {
        several::check_size(args, &plan.trainer.recipe, team.size()).map_err(said_once)?;
        several::check_same(team, options, &plan)?;
    }
    let mut gpu = agreed(&mut team, || on_a_gpu(args, &plan))?;
    let device = gpu.as_ref().map_or_else(String::new, |gpu| gpu.name.clone());
    let dry = args.dry_run.unwrap_or(false);
    let follows = team.as_ref().is_some_and(|team| team.rank() > 0);
    // A dry run tries a named file, and makes no folder; only the first of several saves.
    let target = agreed(&mut team, || match (follows, dry && args.save.is_none()) {
        (true, _) => Ok(None),
        (false, true) => plan.check_target(options).map(|()| None),
        (false, false) => plan.target(options),
    })?;
    let signals = Signals::listen();
    signals.heed();
    let mut shown = Shown::new(program, args, &request, signals.clone());
    shown.probes = probes;
    if let Some(team) = &team {
        shown.together = team.together();
    }
    shown.together(true);

    let words = banner::chosen(&plan);
    shown.speaker.emit(&banner::start_event(program, &plan, &words, threads));
    banner::loaded(&plan).iter().for_each(|line| shown.speaker.say(line));
    if dry || plan.steps > 0 {
        banner::lines(program, &plan, threads).iter().for_each(|line| shown.speaker.say(line));
        if let Some(team) = &team {
            shown.speaker.say(several::line(team.size(), plan.trainer.recipe.accum));
        }
        let lines = device::lines(gpu.as_ref(), &plan.trainer).into_iter();
        lines.chain(device::moved(&plan, &device)).for_each(|line| shown.speaker.say(line));
    }
    if dry && gpu.is_some() {
        shown.speaker.say("note    how long it takes on a GPU is not estimated");
        return shown.speaker.out.finish();
    }
    if dry {
        let stop = || signals.pending().is_some();
        let found = estimate(&mut plan, options, &clock, &stop)?;
        signals.check()?;
        found.iter().for_each(|found| shown.estimated(found, plan.steps));
        return shown.speaker.out.finish();
    }
    if args.overfit == Some(true) {
        overfit::overfit(args, &mut plan, &signals, &mut shown)?;
        return shown.speaker.out.finish();
    }
    let mut group = team.as_mut().map(|team| ProcessGroup::new(team.crew()));
    if let Some(group) = &mut group
        && options.shard_optimizer == Some(true)
    {
        group.divide(&plan.trainer.model, plan.trainer.optimizer.as_mut())?;
    }
    let identity = Identity { device, ..identity(program, args, &plan, threads) };
    if plan.steps > 0 && target.as_ref().is_some_and(|target| target.run.is_some()) {
        shown.about = Some(About::of(&identity, &plan)?);
    }
    let work: &mut dyn Work = match (&mut group, &mut gpu) {
        (Some(group), _) => group,
        (None, Some(gpu)) => gpu.work.as_mut(),
        (None, None) => &mut OneProcess,
    };
    let done = Training::new(&plan, options, &identity, target, &mut shown)
        .with_clock(clock)
        .run(&mut plan, work);
    shown.finish();
    done?;
    shown.speaker.out.finish()
}

/// The GPU that was asked for, with the run's first step tried on it.
///
/// # Errors
/// As [`device::opened`]; [`RunError::Usage`] with what is for the processor alone.
fn on_a_gpu(args: &TrainArgs, plan: &Plan) -> Result<Option<OnGpu>> {
    let Some(asked @ Device::Gpu(_)) = &args.crew.device else { return Ok(None) };
    let of_the_processor = [
        (args.overfit == Some(true), "--overfit"),
        (args.recipe.time.is_some(), "--time"),
        (members(args.crew.crew) > 1, "a crew of several processes"),
    ];
    if let Some((_, what)) = of_the_processor.into_iter().find(|(is_on, _)| *is_on) {
        return Err(RunError::Usage(message!("{} is for the processor: leave --device out", what)));
    }
    let data = plan.data.as_ref().filter(|_| plan.steps > 0).map(|data| &data.train);
    device::opened(Some(asked), &plan.trainer, data)
}

/// The options with what `--time` chooses, and the note that says it.
///
/// # Errors
/// As [`budget::in_time`].
pub(super) fn in_time(
    program: &Program,
    args: &TrainArgs,
    options: &Options,
    clock: &TimeBudget,
) -> Result<(Options, Option<Note>)> {
    let Some(time) = args.recipe.time else { return Ok((options.clone(), None)) };
    let (options, note) = budget::in_time(&program.models, options, time, clock)?;
    Ok((options, Some(note)))
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
    let foreign = args.nano_gpt.notes(&program.models)?;
    let learning = Learning::new(args.output.quiet());
    let mut plan = learning.watch(|watch| Plan::new(&program.models, options, watch))?;
    let rounded = plan.trainer.recipe.matmul == Precision::Bf16;
    let others = foreign.into_iter().chain(lowered.kernels).chain(lowered.engine);
    let others = others.chain(lowered.order.filter(|_| rounded));
    plan.notes.extend(others.map(Note::Said));
    let (text, tokenizer, learned) = (&plan.text, &plan.tokenizer, &plan.trainer.recipe.data);
    let mut request = Request::new(&args.sampling, text, tokenizer, plan.sample_seed, learned)?;
    let question = plan.data.as_ref().and_then(|data| data.chats.as_ref()?.question.as_ref());
    if let (Some(turns), None) = (question, args.sampling.prompt.flag()) {
        request.ask(turns)?;
    }
    let most = plan.trainer.model.config().seq_len;
    request.check_slide(most)?;
    request.window = plan.trainer.model.attention().spec().window;
    let probes = match &plan.data {
        Some(data) => {
            let (len, seq) = (data.train.len(), plan.trainer.recipe.seq_len);
            probes::new(&args.probes, len, seq, most, plan.sample_seed)?
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

/// Who trains, for the run's folder.
fn identity(program: &Program, args: &TrainArgs, plan: &Plan, threads: usize) -> Identity {
    let changes = |note: &&Note| matches!(note, Note::Replaces { .. } | Note::NewCourse { .. });
    let changed = plan.notes.iter().filter(changes).map(|note| spelled(&llm_messages::note(note)));
    Identity {
        version: version(),
        head: head(program.models.name),
        beside: beside(args),
        changed: changed.collect(),
        ..Identity::of(program.models.name, threads)
    }
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
    let options = args.options();
    let target = plan.target(&options)?;
    let mut shown = Shown::bar_alone(program, args, signals.clone());
    let identity = identity(program, args, plan, threads);
    shown.about = Some(About::of(&identity, plan)?);
    let done = Training::new(plan, &options, &identity, target, &mut shown).steps_alone(plan);
    shown.finish();
    let (report, seconds) = done?;
    let report =
        report.ok_or_else(|| RunError::Internal("a comparison without validation data".into()))?;
    Ok((report, seconds))
}
