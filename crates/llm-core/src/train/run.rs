//! The loop: steps, and on the way measurements, saves and reasons to stop.

use super::agree::agree;
use super::hooks::{Ending, Flow, Hooks};
use super::{Evaluation, Scored, Trainer, evaluate, evaluate_together};
use crate::base::{Error, Result};
use crate::checkpoint::{Snapshot, weights_checksum};
use crate::crew::Crew;
use crate::data::{TokenDataset, Windows};
use crate::message;
use crate::optim::Divided;
use std::ops::ControlFlow;

/// What is done during a run, and how often.
#[derive(Clone, Debug, Default)]
pub struct RunPlan<'a> {
    /// Steps to do.
    pub steps: u64,
    /// Measures at every step of the run whose number is a multiple of this; 0: never.
    pub eval_every: u64,
    /// Saves at every step of the run whose number is a multiple of this; 0: never.
    pub save_every: u64,
    /// What is measured on, unless a hook measures.
    pub validation: Option<Validation<'a>>,
}

/// Unseen tokens, and which windows of them are scored.
#[derive(Clone, Debug)]
pub struct Validation<'a> {
    /// The tokens.
    pub data: &'a TokenDataset,
    /// Which of them.
    pub windows: Windows,
}

impl<'a> RunPlan<'a> {
    /// So many steps and nothing else.
    pub fn new(steps: u64) -> RunPlan<'a> {
        RunPlan { steps, ..RunPlan::default() }
    }

    /// Also measures the loss on `data` after every `steps` steps, in windows of `seq_len`, at most
    /// 65,536 tokens of it, evenly spaced.
    pub fn evaluating(self, data: &'a TokenDataset, seq_len: usize, steps: u64) -> RunPlan<'a> {
        const TOKENS: usize = 65_536;
        let windows = data.windows(seq_len).evenly_spaced(TOKENS);
        RunPlan { validation: Some(Validation { data, windows }), eval_every: steps, ..self }
    }

    /// Also has the hooks save after every `steps` steps.
    pub fn saving(self, steps: u64) -> RunPlan<'a> {
        RunPlan { save_every: steps, ..self }
    }
}

impl Trainer {
    /// Trains: the steps of the plan, and between them what the plan and the hooks want done.
    ///
    /// After a step, in this order: [`Hooks::after_step`]; if due, the measurement and
    /// [`Hooks::evaluated`]; if due, [`Hooks::save`]; [`Hooks::before_next`]. The last step is
    /// followed by the first of these only: what comes after a run is its caller's.
    ///
    /// With a crew every member calls this with the same data and plan. What one's hooks end, ends
    /// for all after the same step. Only hooks that keep something belong to one member alone.
    ///
    /// ```
    /// use llm_core::train::{Ending, RunPlan, TimeLimit, Trainer};
    /// use llm_core::{Config, Recipe, TinyGPT, TokenDataset};
    /// use std::time::Duration;
    ///
    /// let data = TokenDataset::from_bytes(b"the cat sat on the mat. ".repeat(40));
    /// let (data, unseen) = data.split(0.1);
    /// let model = TinyGPT::new(Config::new(256, 16, 16, 1), 1)?;
    /// let mut trainer = Trainer::new(model, Recipe::new(4, 16, 20, 1e-2))?;
    /// let plan = RunPlan::new(20).evaluating(&unseen, 16, 10);
    /// let ending = trainer.run(&data, &plan, &mut TimeLimit::new(Duration::from_secs(60)))?;
    /// assert_eq!((ending, trainer.step), (Ending::AllSteps, 20));
    /// # Ok::<(), llm_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Trainer::step`], what measuring says, and the hooks' own. Steps that were done before
    /// stay done.
    pub fn run(
        &mut self,
        data: &TokenDataset,
        plan: &RunPlan<'_>,
        hooks: &mut dyn Hooks,
    ) -> Result<Ending> {
        for done in 1..=plan.steps {
            let report = match self.step_with(data, hooks) {
                Err(Error::Stopped { .. }) => return Ok(Ending::Interrupted),
                done => done?,
            };
            let flow = hooks.after_step(Snapshot::from(&*self), &report)?;
            if let Flow::Break(ending) = agree(hooks, flow)? {
                return Ok(ending);
            }
            let left = plan.steps - done;
            let step = self.step;
            let due = |every: u64| every > 0 && step.is_multiple_of(every) && left > 0;
            let mut flow = Flow::Continue(());
            if due(plan.eval_every) {
                flow = self.measure(plan, hooks)?;
            }
            if flow.is_continue() && hooks.interrupted() {
                flow = Flow::Break(Ending::Interrupted);
            }
            if let Flow::Break(ending) = agree(hooks, flow)? {
                return Ok(ending);
            }
            if due(plan.save_every) {
                if let Some(crew) = hooks.crew() {
                    self.before_saving(crew)?;
                }
                hooks.save(Snapshot::from(&*self))?;
            }
            if left > 0 {
                let flow = hooks.before_next(Snapshot::from(&*self), left)?;
                if let Flow::Break(ending) = agree(hooks, flow)? {
                    return Ok(ending);
                }
            }
        }
        Ok(Ending::AllSteps)
    }

    /// Divides the memory of the optimizer over the members of a crew, see [`Divided`]. All members
    /// do it, before the first step that they make together.
    ///
    /// # Errors
    /// As [`Divided::new`].
    pub fn divide_optimizer(&mut self, crew: &dyn Crew) -> Result<()> {
        let whole = self.optimizer.boxed();
        let parameters = self.model.parameters();
        self.optimizer = Box::new(Divided::new(whole, parameters, crew.rank(), crew.size())?);
        Ok(())
    }

    /// Makes the state one that can be saved: gathers what a divided optimizer remembers. All members of a crew call this before one of them
    /// saves; [`Trainer::run`] does it for what [`Hooks::save`] gets.
    ///
    /// # Errors
    /// [`CrewError::Unequal`](crate::base::CrewError::Unequal), for all, when they do not have the
    /// same weights: a fault of a machine's memory would else go on unseen.
    pub fn before_saving(&mut self, crew: &mut dyn Crew) -> Result<()> {
        crew.equal(message!("weights"), &weights_checksum(&self.model).to_le_bytes())?;
        Divided::of(self.optimizer.as_mut()).map_or(Ok(()), |divided| divided.gather(crew))
    }

    /// Trains up to the end of the recipe: the steps that are left, and nothing else.
    ///
    /// # Errors
    /// As [`Trainer::run`].
    pub fn finish(&mut self, data: &TokenDataset) -> Result<Ending> {
        let left = self.recipe.total_steps.saturating_sub(self.step);
        self.run(data, &RunPlan::new(left), &mut ())
    }

    fn measure(&self, plan: &RunPlan<'_>, hooks: &mut dyn Hooks) -> Result<Flow> {
        let run = Snapshot::from(self);
        let measured = match (hooks.evaluate(run)?, &plan.validation) {
            (Some(measured), _) => measured,
            (None, Some(validation)) => self.evaluate(validation, hooks)?,
            (None, None) => return Ok(Flow::Continue(())),
        };
        if hooks.interrupted() {
            return Ok(Flow::Break(Ending::Interrupted));
        }
        measured.check(run.step)?;
        hooks.evaluated(run, &measured)
    }

    fn evaluate(&self, on: &Validation<'_>, hooks: &mut dyn Hooks) -> Result<Evaluation> {
        let (model, batch_size) = (&self.model, self.recipe.batch_size);
        if let Some(crew) = hooks.crew() {
            let all = |_: Scored<'_>| ControlFlow::Continue(());
            return evaluate_together(crew, model, on.data, &on.windows, batch_size, all);
        }
        evaluate(model, on.data, &on.windows, batch_size, |_| {
            if hooks.interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    }
}
