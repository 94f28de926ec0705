//! No verb: train, then the probes, then save, then write; each if asked for.

mod face;

use crate::args::{RecipeArgs, TrainArgs};
use crate::crew::Team;
use crate::error::{Result, RunError, usage};
use crate::machine::version;
use crate::next_commands;
use crate::program::Program;
use crate::settings::{beside, head};
use crate::signals::Signals;
use face::{Shown, changed};
use llm_core::crew::Crew;
use llm_core::message;
use llm_report::About;
use llm_run::data::Report;
use llm_run::folder::newest_run;
use llm_run::options::Options;
use llm_run::plan::Plan;
use llm_run::training::{Identity, Training, run};
use std::path::Path;

/// The whole command.
///
/// # Errors
/// Each with its exit code; what is kept is said.
pub(crate) fn train(
    program: &Program,
    args: &TrainArgs,
    options: &Options,
    threads: usize,
    team: Option<&mut Team>,
) -> Result<()> {
    let mut shown = Shown::new(program, args, threads);
    let crew = team.map(|team| -> &mut dyn Crew {
        shown.together = team.together.clone();
        &mut team.crew
    });
    let identity = identity(program, args, threads);
    let done = run(&program.models, options, identity, crew, &mut shown);
    shown.progress.finish();
    done?;
    shown.speaker.out.finish()
}

/// The program and its machine, for the run's folder.
fn identity(program: &Program, args: &TrainArgs, threads: usize) -> Identity {
    Identity {
        version: version(),
        head: head(program.models.name),
        beside: beside(args),
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
    let mut shown = Shown::new(program, args, threads).bar_alone(signals.clone());
    let mut identity = identity(program, args, threads);
    identity.changed = changed(plan);
    shown.about = Some(About::of(&identity, plan)?);
    let done = Training::new(plan, &options, &identity, target, &mut shown).steps_alone(plan);
    shown.progress.finish();
    let (report, seconds) = done?;
    let report =
        report.ok_or_else(|| RunError::Internal("a comparison without validation data".into()))?;
    Ok((report, seconds))
}

/// A prompt and nothing about training: the user wants text of a model that is there already.
fn refuse_prompt_alone(program: &Program, args: &TrainArgs) -> Result<()> {
    let flag = args.sampling.prompt.flag().filter(|_| args.load.is_none());
    let Some(flag) = flag else { return Ok(()) };
    let shape = args.files.tokenizer.kind.is_some()
        || args.model.arch.is_some()
        || !args.heads.0.is_empty();
    let RecipeArgs { epochs, time, max_time, .. } = &args.recipe;
    let length = epochs.is_some() || time.is_some() || max_time.is_some();
    let place = args.save.is_some() || args.out.is_some() || args.config.is_some();
    let others = args.recipe.preset.is_some() || args.dry_run.is_some() || args.overfit.is_some();
    // The seed is one of the text, too.
    let settings = args.given().keys().any(|name| *name != "seed");
    if shape || length || place || others || settings || !args.files.data.is_empty() {
        return Ok(());
    }
    let (name, run) = (program.models.name, newest_run());
    let path = run.as_deref().unwrap_or(Path::new("RUN"));
    let load = next_commands::load_flag(path);
    usage(message!(
        "{}: no model is given; {} generate{} {} .. writes text, --steps N trains \
         a new one first",
        flag,
        name,
        load,
        flag
    ))
}
