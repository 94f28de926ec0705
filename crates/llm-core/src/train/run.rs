//! The loop: steps, and on the way measurements, saves and reasons to stop.

use super::agree::agree;
use super::hooks::{Ending, Flow, Hooks, StepReport};
use super::step::Update;
use super::work::{OneProcess, Work};
use super::{Trainer, evaluate_together};
use crate::base::{Error, Result};
use crate::checkpoint::Snapshot;
use crate::data::{TokenDataset, Windows};
use std::collections::VecDeque;
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

/// How far a device is ahead of what it has reported.
#[derive(Default)]
struct Ahead {
    /// Tokens of the steps that are queued, and not reported.
    queued: VecDeque<u64>,
    /// Whether the hooks look at the weights of the next step, if they were asked.
    looks: Option<bool>,
    /// Why the run ends when they are reported.
    ending: Option<Ending>,
    /// Whether none is queued behind them for now.
    is_last: bool,
}

impl Trainer {
    /// Trains: the steps of the plan, and between them what the plan and the hooks want done.
    ///
    /// After a step, in this order: [`Hooks::after_step`]; if due, the measurement and
    /// [`Hooks::evaluated`]; if due, [`Hooks::save`]; [`Hooks::before_next`]; [`Hooks::steps_left`]. The last step is
    /// followed by the first of these only: what comes after a run is its caller's.
    ///
    /// `work` does the steps, usually [`OneProcess`]. Of a
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
        let (mut whole, mut ahead) = (self.step, Ahead::default());
        let ended = self.steps(data, plan, work, hooks, (&mut whole, &mut ahead));
        let fetched = self.settle(work, &mut ahead).and_then(|()| self.fetch(work, &mut whole));
        if fetched.is_err() {
            self.step = whole; // that of the weights that are here
        }
        ended.and_then(|ending| fetched.map(|()| ending))
    }

    /// The steps; `whole` is the last whose weights are in the model.
    fn steps(
        &mut self,
        data: &TokenDataset,
        plan: &RunPlan<'_>,
        work: &mut dyn Work,
        hooks: &mut dyn Hooks,
        (whole, ahead): (&mut u64, &mut Ahead),
    ) -> Result<Ending> {
        let mut left = plan.steps;
        while left > 0 {
            let report = match self.step_ahead(data, (plan, left), work, hooks, ahead) {
                Err(Error::Stopped { .. }) => return Ok(Ending::Interrupted),
                done => done?,
            };
            if ahead.looks.take().unwrap_or_else(|| hooks.needs_weights(self.step)) {
                self.fetch(work, whole)?;
            }
            let flow = hooks.after_step(Snapshot::from(&*self), &report)?;
            if let Flow::Break(ending) = agree(work, flow)? {
                ahead.ending = Some(ending);
            }
            left -= 1;
            if ahead.ending.is_some() && !ahead.queued.is_empty() && left > 0 {
                continue; // what is queued is done, and reported
            }
            if let Some(ending) = ahead.ending {
                return Ok(ending);
            }
            let step = self.step;
            let due = |every: u64| every > 0 && step.is_multiple_of(every) && left > 0;
            let mut flow = Flow::Continue(());
            if due(plan.eval_every) {
                self.fetch(work, whole)?;
                flow = self.measure(plan, work, hooks)?;
            }
            if flow.is_continue() && hooks.interrupted() {
                flow = Flow::Break(Ending::Interrupted);
            }
            if let Flow::Break(ending) = agree(work, flow)? {
                if !ahead.queued.is_empty() {
                    ahead.ending = Some(ending);
                    continue;
                }
                return Ok(ending);
            }
            if due(plan.save_every) {
                self.fetch(work, whole)?;
                work.before_saving(&self.model, self.optimizer.as_mut())?;
                hooks.save(Snapshot::from(&*self))?;
            }
            if left > 0 {
                let flow = hooks.before_next(Snapshot::from(&*self), left)?;
                if let Flow::Break(ending) = agree(work, flow)? {
                    if !ahead.queued.is_empty() {
                        ahead.is_last = true; // asked again behind it
                        continue;
                    }
                    return Ok(ending);
                }
                let planned = hooks.steps_left(Snapshot::from(&*self), left, work)?;
                if planned != left {
                    left = planned;
                    self.recipe.end_at(step.saturating_add(left));
                }
            }
        }
        Ok(Ending::AllSteps)
    }

    /// The next step. Where nothing waits for its report or looks at its weights, the one behind it is queued before that is
    /// read, so that a device has always something to do.
    fn step_ahead(
        &mut self,
        data: &TokenDataset,
        (plan, left): (&RunPlan<'_>, u64),
        work: &mut dyn Work,
        hooks: &mut dyn Hooks,
        ahead: &mut Ahead,
    ) -> Result<StepReport> {
        let next = self.step + 1;
        let due = |every: u64| every > 0 && next.is_multiple_of(every);
        let may = self.recipe.reward.is_empty() && !hooks.waits() && work.size() == 1;
        if may && ahead.queued.is_empty() {
            ahead.queued.extend(self.queue(data, 0, work, hooks)?);
        }
        if ahead.queued.is_empty() {
            return self.step_with(data, work, hooks);
        }
        let stops = ahead.ending.is_some() || std::mem::take(&mut ahead.is_last);
        if may && !stops && left > 1 && !due(plan.eval_every) && !due(plan.save_every) {
            let looks = *ahead.looks.insert(hooks.needs_weights(next));
            // What keeps it from being queued is found again in its turn.
            if !looks && let Ok(Some(tokens)) = self.queue(data, 1, work, hooks) {
                ahead.queued.push_back(tokens);
            }
        }
        let Some([loss, norm]) = work.finish()? else {
            *ahead = Ahead::default();
            return self.step_with(data, work, hooks); // which says what is not finite
        };
        let tokens = ahead.queued.pop_front().unwrap_or_default();
        let lr = self.recipe.schedule.at(self.step);
        self.step = next;
        let (loss, grad_norm) = (loss as f32, norm as f32);
        Ok(StepReport { step: next, loss, lr, grad_norm, tokens, skipped: false })
    }

    /// Queues the step that is `behind` steps later than the next; the number of its tokens, or none where it has to be waited for.
    fn queue(
        &self,
        data: &TokenDataset,
        behind: u64,
        work: &mut dyn Work,
        hooks: &mut dyn Hooks,
    ) -> Result<Option<u64>> {
        let (step, recipe) = (self.step + behind, &self.recipe);
        let mut tokens = 0;
        let mut batches = (0..recipe.accum).map(|micro| match hooks.interrupted() {
            true => Err(Error::Stopped { step }),
            false => recipe.batch(data, step, micro).inspect(|of| tokens += of.inputs.len() as u64),
        });
        let update = Update { step, lr: recipe.schedule.at(step), clip: recipe.clip };
        update.check(batches.len())?;
        let is_queued = work.queue(&mut batches, step, [update.lr, update.clip])?;
        Ok(is_queued.then_some(tokens))
    }

    /// Waits for what is queued, which is done then.
    fn settle(&mut self, work: &mut dyn Work, ahead: &mut Ahead) -> Result<()> {
        while ahead.queued.pop_front().is_some() && work.finish()?.is_some() {
            self.step += 1;
        }
        Ok(())
    }

    fn fetch(&mut self, work: &mut dyn Work, whole: &mut u64) -> Result<()> {
        work.fetch(&mut self.model, self.optimizer.as_mut())?;
        *whole = self.step;
        Ok(())
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
            (None, Some(Validation { data, windows })) => {
                let (model, batch_size) = (&self.model, self.recipe.batch_size);
                let is_alone = work.size() == 1; // several measure to the end, and agree after it
                evaluate_together(work, model, data, windows, batch_size, |_| {
                    let stop = is_alone && hooks.interrupted();
                    if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                })?
            }
            (None, None) => return Ok(Flow::Continue(())),
        };
        if hooks.interrupted() {
            return Ok(Flow::Break(Ending::Interrupted));
        }
        measured.check(run.step)?;
        hooks.evaluated(run, &measured)
    }
}

#[cfg(test)]
mod tests {
    use super::super::work::{Batches, StepSum};
    use super::*;
    use crate::autograd::Gradients;
    use crate::checkpoint::{TokenizerSpec, to_bytes};
    use crate::model::TinyGPT;
    use crate::optim::{Optimizer, Schedule, ScheduleKind};
    use crate::train::Evaluation;
    use crate::train::StepReport;
    use crate::{Config, Recipe};

    /// Has model and optimizer in a place of its own, as a device does; gives them back `fetches` times.
    #[derive(Debug)]
    struct Elsewhere {
        model: TinyGPT,
        optimizer: Box<dyn Optimizer>,
        fetches: usize,
    }

    impl Work for Elsewhere {
        fn gradients(&mut self, _: &TinyGPT, of: &mut Batches<'_>, step: u64) -> Result<StepSum> {
            OneProcess.gradients(&self.model, of, step)
        }

        fn norm(&mut self, _: &TinyGPT, gradients: &Gradients) -> Result<f64> {
            OneProcess.norm(&self.model, gradients)
        }

        fn update(
            &mut self,
            _: &mut TinyGPT,
            _: &mut dyn Optimizer,
            gradients: &Gradients,
            lr: f32,
            scale: f32,
        ) -> Result<()> {
            OneProcess.update(&mut self.model, self.optimizer.as_mut(), gradients, lr, scale)
        }

        fn fetch(&mut self, model: &mut TinyGPT, optimizer: &mut dyn Optimizer) -> Result<()> {
            let lost = || Error::Device("lost".into());
            self.fetches = self.fetches.checked_sub(1).ok_or_else(lost)?;
            *model = self.model.clone();
            optimizer.restore(self.optimizer.state().clone());
            Ok(())
        }
    }

    /// What each hook saw of the run that is one of those that look at weights.
    #[derive(Default)]
    struct Seen(Vec<(&'static str, u64, Vec<u8>)>);

    impl Seen {
        fn add(&mut self, what: &'static str, run: Snapshot<'_>) {
            let bytes = to_bytes(run, &TokenizerSpec::bytes(), true).unwrap();
            self.0.push((what, run.step, bytes));
        }
    }

    impl Hooks for Seen {
        fn needs_weights(&mut self, step: u64) -> bool {
            step == 3
        }

        fn after_step(&mut self, run: Snapshot<'_>, _: &StepReport) -> Result<Flow> {
            if run.step == 3 {
                self.add("after", run);
            }
            Ok(Flow::Continue(()))
        }

        fn evaluated(&mut self, run: Snapshot<'_>, _: &Evaluation) -> Result<Flow> {
            self.add("evaluated", run);
            Ok(Flow::Continue(()))
        }

        fn save(&mut self, run: Snapshot<'_>) -> Result<()> {
            self.add("saved", run);
            Ok(())
        }
    }

    fn start() -> (Trainer, TokenDataset) {
        let recipe = Recipe { accum: 2, ..Recipe::new([2, 4], 9, 0.1) };
        let trainer = Trainer::fresh(Config::new(256, 4, 4, 1), recipe).unwrap();
        (trainer, TokenDataset::from_bytes(b"the cat sat on the mat. ".repeat(9)))
    }

    fn elsewhere(trainer: &Trainer, fetches: usize) -> Elsewhere {
        let Trainer { model, optimizer, .. } = trainer.clone();
        Elsewhere { model, optimizer, fetches }
    }

    #[test]
    fn whoever_looks_sees_the_weights_of_the_step() {
        let (mut here, data) = start();
        let mut there = here.clone();
        let plan = RunPlan::new(9).evaluating(&data, 4, 4).saving(5);
        let [mut of_here, mut of_there] = [(); 2].map(|()| Seen::default());
        here.run(&data, &plan, &mut OneProcess, &mut of_here).unwrap();
        let mut device = elsewhere(&there, usize::MAX);
        there.run(&data, &plan, &mut device, &mut of_there).unwrap();
        of_here.add("end", (&here).into());
        of_there.add("end", (&there).into());
        let order = [("after", 3), ("evaluated", 4), ("saved", 5), ("evaluated", 8), ("end", 9)];
        assert_eq!(
            of_here.0.iter().map(|(what, step, _)| (*what, *step)).collect::<Vec<_>>(),
            order
        );
        assert!(of_here.0 == of_there.0);
    }

    #[test]
    fn a_device_that_is_lost_leaves_the_state_that_it_last_gave() {
        let (mut here, data) = start();
        let mut there = here.clone();
        here.run(&data, &RunPlan::new(4), &mut OneProcess, &mut ()).unwrap();
        let mut device = elsewhere(&there, 1);
        let plan = RunPlan::new(9).evaluating(&data, 4, 4);
        let lost = there.run(&data, &plan, &mut device, &mut ());
        assert!(matches!(lost, Err(Error::Device(_))), "{lost:?}");
        let bytes = |of: &Trainer| to_bytes(of, &TokenizerSpec::bytes(), true).unwrap();
        assert_eq!(there.step, 4);
        assert!(bytes(&there) == bytes(&here));
    }

    /// Ends at step `total`, which is decided at step `after`.
    struct Otherwise {
        after: u64,
        total: u64,
    }

    impl Hooks for Otherwise {
        fn steps_left(&mut self, run: Snapshot<'_>, left: u64, _: &mut dyn Work) -> Result<u64> {
            Ok(if run.step == self.after { self.total - run.step } else { left })
        }
    }

    /// While the rate does not fall, a run that is planned again is the one that was planned so at first.
    #[test]
    fn planned_again_before_the_rate_falls_is_planned_at_first() {
        let bytes = |of: &Trainer| to_bytes(of, &TokenizerSpec::bytes(), true).unwrap();
        for total in [5, 9, 14] {
            let trainer = |steps| {
                let schedule = Schedule {
                    kind: ScheduleKind::Linear,
                    min_lr: 0.0,
                    warmup_steps: 3,
                    decay_steps: steps,
                    ..Schedule::constant(0.1)
                };
                let recipe = Recipe { schedule, ..Recipe::new([2, 4], steps, 0.1) };
                Trainer::fresh(Config::new(256, 4, 4, 1), recipe).unwrap()
            };
            let (_, data) = start();
            let (mut again, mut first) = (trainer(9), trainer(total));
            let mut hooks = (Otherwise { after: 4, total }, Seen::default());
            let plan = RunPlan::new(9);
            again.run(&data, &plan, &mut OneProcess, &mut hooks).unwrap();
            first.finish(&data).unwrap();
            assert_eq!((again.step, again.recipe.total_steps), (total, total));
            assert!(bytes(&again) == bytes(&first));
        }
    }
}
