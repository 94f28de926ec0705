//! The loop: steps, and on the way measurements, saves and reasons to stop.

use super::agree::agree;
use super::hooks::{Ending, Flow, Hooks};
use super::work::{OneProcess, Work};
use super::{Evaluation, Trainer, evaluate_together};
use crate::base::{Error, Result};
use crate::checkpoint::Snapshot;
use crate::data::{TokenDataset, Windows};
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
    /// A plan of `steps` steps and nothing else.
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
    /// Who does the steps is `work`, usually [`OneProcess`]. Of a
    /// [`ProcessGroup`](super::ProcessGroup) every rank calls this with the same data and plan. What
    /// one's hooks end, ends for all after the same step. Only hooks that keep something belong to
    /// one rank alone.
    ///
    /// ```
    /// use llm_core::train::{Ending, OneProcess, RunPlan, TimeLimit, Trainer};
    /// use llm_core::{Config, Recipe, TinyGPT, TokenDataset};
    /// use std::time::Duration;
    ///
    /// let data = TokenDataset::from_bytes(b"the cat sat on the mat. ".repeat(40));
    /// let (data, unseen) = data.split(0.1);
    /// let model = TinyGPT::new(Config::new(256, 16, 16, 1), 1)?;
    /// let mut trainer = Trainer::new(model, Recipe::new([4, 16], 20, 1e-2))?;
    /// let plan = RunPlan::new(20).evaluating(&unseen, 16, 10);
    /// let mut limit = TimeLimit::new(Duration::from_secs(60));
    /// let ending = trainer.run(&data, &plan, &mut OneProcess, &mut limit)?;
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
        work: &mut dyn Work,
        hooks: &mut dyn Hooks,
    ) -> Result<Ending> {
        for done in 1..=plan.steps {
            let report = match self.step_with(data, work, hooks) {
                Err(Error::Stopped { .. }) => return Ok(Ending::Interrupted),
                done => done?,
            };
            let flow = hooks.after_step(Snapshot::from(&*self), &report)?;
            if let Flow::Break(ending) = agree(work, flow)? {
                return Ok(ending);
            }
            let left = plan.steps - done;
            let step = self.step;
            let due = |every: u64| every > 0 && step.is_multiple_of(every) && left > 0;
            let mut flow = Flow::Continue(());
            if due(plan.eval_every) {
                flow = self.measure(plan, work, hooks)?;
            }
            if flow.is_continue() && hooks.interrupted() {
                flow = Flow::Break(Ending::Interrupted);
            }
            if let Flow::Break(ending) = agree(work, flow)? {
                return Ok(ending);
            }
            if due(plan.save_every) {
                work.before_saving(&self.model, self.optimizer.as_mut())?;
                hooks.save(Snapshot::from(&*self))?;
            }
            if left > 0 {
                let flow = hooks.before_next(Snapshot::from(&*self), left)?;
                if let Flow::Break(ending) = agree(work, flow)? {
                    return Ok(ending);
                }
            }
        }
        Ok(Ending::AllSteps)
    }

    /// Trains up to the end of the recipe: the steps that are left, and nothing else.
    ///
    /// # Errors
    /// As [`Trainer::run`].
    pub fn finish(&mut self, data: &TokenDataset) -> Result<Ending> {
        let left = self.recipe.total_steps.saturating_sub(self.step);
        self.run(data, &RunPlan::new(left), &mut OneProcess, &mut ())
    }

    fn measure(
        &self,
        plan: &RunPlan<'_>,
        work: &mut dyn Work,
        hooks: &mut dyn Hooks,
    ) -> Result<Flow> {
        let run = Snapshot::from(self);
        let measured = match (hooks.evaluate(run, work)?, &plan.validation) {
            (Some(measured), _) => measured,
            (None, Some(validation)) => self.evaluate(validation, work, hooks)?,
            (None, None) => return Ok(Flow::Continue(())),
        };
        if hooks.interrupted() {
            return Ok(Flow::Break(Ending::Interrupted));
        }
        measured.check(run.step)?;
        hooks.evaluated(run, &measured)
    }

    fn evaluate(
        &self,
        on: &Validation<'_>,
        work: &mut dyn Work,
        hooks: &mut dyn Hooks,
    ) -> Result<Evaluation> {
        let (model, batch_size) = (&self.model, self.recipe.batch_size);
        let is_alone = work.size() == 1; // several measure to the end, and agree after it
        evaluate_together(work, model, on.data, &on.windows, batch_size, |_| {
            match is_alone && hooks.interrupted() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })
    }
}
