//! A run from its options to its end, by whoever works on it: the CPU, a GPU, several processes.

use super::Training;
use super::estimate::estimate;
use super::event::{Event, Face};
use super::kinds::Identity;
use super::overfit::overfit;
use super::team::Team;
use crate::budget::{Deadline, InTime, in_time};
use crate::clock::TimeBudget;
use crate::defaults::LOG_EVERY;
use crate::device::{OnGpu, in_the_faster, opened_by};
use crate::error::{Result, RunError};
use crate::folder::run_of;
use crate::log::{RunInfo, StepLines};
use crate::models::Models;
use crate::note::Note;
use crate::options::Options;
use crate::plan::Plan;
use crate::rewards::{Ground, Judge, Judging};
use llm_core::crew::Crew;
use llm_core::kernels::gemm::Precision;
use llm_core::message;
use llm_core::train::{OneProcess, ProcessGroup, Work};
use std::time::{Duration, Instant};

/// Does all of a run that options ask for: plan, device, steps, the last measurement, checks, a text, the
/// page. `crew` are the processes that work together, all of which call this with the same options; the
/// first alone saves, and an error of one ends all.
///
/// # Errors
/// What ended the run; what is kept is said.
pub fn run(
    models: &Models,
    options: &Options,
    identity: Identity,
    crew: Option<&mut dyn Crew>,
    face: &mut dyn Face,
) -> Result<()> {
    let clock = TimeBudget { begin: Instant::now(), most: options.max_time };
    let InTime { options, notes: chosen, deadline } = &in_time(models, options, &clock)?;
    let mut team = Team::new(crew);
    let mut make = || face.plan(&mut |watch| Plan::new(models, options, watch));
    if !team.size().is_power_of_two() {
        let plan = make().map_err(|e| team.said_once(e))?;
        return team.check_size(options, &plan.trainer.recipe);
    }
    let common = team.greet(&identity.version)?;
    let mut plan = team.agree(make)?;
    plan.notes.splice(..0, chosen.clone());
    let most = deadline.map(|deadline| Duration::from_secs_f64(deadline.most()));
    let clock = TimeBudget { most: clock.most.into_iter().chain(most).min(), ..clock };
    plan.notes.extend(common.notes(plan.trainer.recipe.matmul));
    team.check(options, &plan)?;
    follow(&mut plan, options, identity, (&mut team, clock, *deadline), face)
}

/// [`run`] of a plan that is made already, in one process.
///
/// # Errors
/// As [`run`].
pub fn train(plan: &mut Plan, options: &Options, who: Identity, face: &mut dyn Face) -> Result<()> {
    let clock = TimeBudget { begin: Instant::now(), most: options.max_time };
    follow(plan, options, who, (&mut Team::new(None), clock, None), face)
}

/// Chooses device, place and worker for a plan, and does what is asked for with it.
fn follow(
    plan: &mut Plan,
    options: &Options,
    mut identity: Identity,
    (team, clock, deadline): (&mut Team<'_>, TimeBudget, Option<Deadline>),
    face: &mut dyn Face,
) -> Result<()> {
    let steps = plan.data.as_ref().filter(|_| plan.steps > 0).map(|data| &data.train);
    if team.size() == 1 {
        plan.notes.extend(in_the_faster(&options.device, &mut plan.trainer, steps)?);
    }
    let of = team.crew().map_or([0, 1], |crew| [crew.rank(), crew.size()]);
    let mut gpu = team.agree(|| opened_by(of, &options.device, &plan.trainer, steps))?;
    let target = team.target(options, plan)?;
    team.alike(gpu.as_ref().map_or("", |gpu| &gpu.name))?;
    identity.device = gpu.as_ref().map_or_else(String::new, |gpu| gpu.name.clone());
    face.together(true);
    face.begins(plan, target.as_ref(), &mut identity)?;
    plan.notes.iter().for_each(|note| face.event(&Event::Note(note)));
    if options.dry_run || plan.steps > 0 {
        face.event(&Event::Planned(plan));
        let notes = on_device(plan, gpu.as_ref(), team.size(), &identity.device);
        notes.iter().for_each(|note| face.event(&Event::Note(note)));
    }
    let Ground { questions, pairs, .. } = &plan.ground;
    let learns_otherwise = questions.is_some() || pairs.is_some();
    let judge = questions.as_ref().map(|_| Judge::of(&plan.trainer.recipe.reward));
    if options.dry_run && matches!(judge, Some(Judge::Program(_))) {
        let why =
            message!("how long a program takes to judge answers is not estimated: it is not asked");
        face.event(&Event::Note(&Note::Said(why)));
        return Ok(());
    }
    if options.dry_run {
        return estimated(plan, options, gpu.as_mut(), &clock, face);
    }
    if options.overfit {
        let log_every = options.habits.log_every.unwrap_or(LOG_EVERY);
        let found = overfit(plan, log_every, face)?;
        check_signal(face)?;
        face.event(&Event::Overfit(&found));
        return Ok(());
    }
    let mut group = None;
    let work: &mut dyn Work = match (team.crew(), &mut gpu) {
        (Some(crew), gpu) => {
            let all = ProcessGroup::new(crew);
            let all = match gpu {
                Some(gpu) => all.on(gpu.work.as_mut()),
                None => all,
            };
            let all = group.insert(all);
            if options.shard_optimizer == Some(true) {
                all.divide(&plan.trainer.model, plan.trainer.optimizer.as_mut())?;
            }
            all
        }
        (None, Some(gpu)) => gpu.work.as_mut(),
        (None, None) => &mut OneProcess,
    };
    if !learns_otherwise {
        let mut training = Training::new(plan, options, &identity, target, face);
        (training.clock, training.deadline) = (clock, deadline);
        return training.run(plan, work);
    }
    let folder = target.as_ref().and_then(|target| target.run.as_deref());
    let known =
        folder.filter(|_| plan.continued().is_some()).map_or(Ok(Vec::new()), StepLines::read)?;
    let recipe = &plan.trainer.recipe;
    let ground = plan.ground.clone();
    let work = &mut Judging::new(work, recipe, ground, plan.tokenizer.clone(), known);
    let mut training = Training::new(plan, options, &identity, target, face);
    (training.clock, training.deadline) = (clock, deadline);
    training.rewards = Some(work.latest());
    training.run(plan, work)
}

/// Notes on who computes the steps.
fn on_device(plan: &Plan, gpu: Option<&OnGpu>, processes: usize, device: &str) -> Vec<Note> {
    let recipe = &plan.trainer.recipe;
    let crew = Note::Crew { processes, micro_batches: recipe.accum };
    let mut notes: Vec<Note> = (processes > 1).then_some(crew).into_iter().collect();
    match gpu {
        Some(gpu) => notes.extend(gpu.notes()),
        None if recipe.matmul == Precision::F16 => notes.push(Note::EmulatedF16),
        None => {}
    }
    notes.extend(moved(plan, device));
    notes
}

/// The note when the run's steps so far were computed on another device than this one; empty: the CPU.
fn moved(plan: &Plan, device: &str) -> Option<Note> {
    let before = RunInfo::read(&run_of(plan.continued()?)?)?.device;
    let is_other = before != device;
    is_other.then(|| Note::OtherDevice(Some(before).filter(|name| !name.is_empty())))
}

/// The dry run: how long the run would take.
fn estimated(
    plan: &mut Plan,
    options: &Options,
    gpu: Option<&mut OnGpu>,
    clock: &TimeBudget,
    face: &mut dyn Face,
) -> Result<()> {
    let watching = &mut *face;
    let mut stop = move || watching.signal().is_some();
    let (ground, mut one, mut judging) = (plan.ground.clone(), OneProcess, None);
    let work: Option<&mut dyn Work> = match gpu {
        Some(gpu) => Some(gpu.work.as_mut()),
        None if ground.questions.is_none() && ground.pairs.is_none() => None,
        None => {
            let recipe = &plan.trainer.recipe;
            let of = Judging::new(&mut one, recipe, ground, plan.tokenizer.clone(), Vec::new());
            Some(judging.insert(of))
        }
    };
    let found = estimate(plan, options, work, clock, &mut stop)?;
    check_signal(face)?;
    if let Some(estimate) = &found {
        face.event(&Event::Estimated { estimate, steps: plan.steps });
    }
    Ok(())
}

fn check_signal(face: &dyn Face) -> Result<()> {
    face.signal().map_or(Ok(()), |n| Err(RunError::Signal(n)))
}
