//! No verb: train, then the probes, then save, then write; each if asked for.

mod alone;
mod face;

use crate::args::TrainArgs;
use crate::crew::Team;
use crate::error::{Result, RunError};
use crate::machine::version;
use crate::program::Program;
use crate::settings::{beside, head};
use crate::signals::Signals;
use face::{Shown, changed};
use llm_core::crew::Crew;
use llm_core::train::{OneProcess, Work};
use llm_report::About;
use llm_run::data::Report;
use llm_run::device::opened;
use llm_run::options::Options;
use llm_run::plan::Plan;
use llm_run::training::{Identity, Training, run};

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
    let steps = plan.data.as_ref().map(|data| &data.train);
    let mut gpu = opened(&options.device, &plan.trainer, steps)?;
    identity.device = gpu.as_ref().map_or_else(String::new, |gpu| gpu.name.clone());
    let work: &mut dyn Work = match &mut gpu {
        Some(gpu) => gpu.work.as_mut(),
        None => &mut OneProcess,
    };
    let done = Training::new(plan, &options, &identity, target, &mut shown).steps_alone(plan, work);
    shown.progress.finish();
    let (report, seconds) = done?;
    let report =
        report.ok_or_else(|| RunError::Internal("a comparison without validation data".into()))?;
    Ok((report, seconds))
}
