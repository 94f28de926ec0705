//! Observers of a run and participants in it, and what they are shown.

use super::Evaluation;
use super::work::Work;
use crate::autograd::Gradients;
use crate::base::Result;
use crate::checkpoint::Snapshot;
use crate::model::TinyGPT;
use std::ops::ControlFlow;

/// A step whose gradient is complete and whose update is not yet made. A hook may change both the
/// gradient and the loss: sum them over several machines, add noise, look at them.
#[derive(Debug)]
pub struct Pending<'a> {
    /// The weights, as they are until the update.
    pub model: &'a TinyGPT,
    /// The gradient of the loss, before clipping; by name: [`Pending::gradients`].
    pub grads: &'a mut Gradients,
    /// Mean over the step's tokens, in nats.
    pub loss: &'a mut f64,
    /// Steps done before.
    pub step: u64,
    /// Tokens of the step.
    pub tokens: u64,
}

impl Pending<'_> {
    /// Every parameter's gradient with its name, in the model's order.
    pub fn gradients(&mut self) -> Vec<(String, &mut [f32])> {
        self.grads.named_mut(self.model.trained())
    }
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepReport {
    /// Steps done, this one included.
    pub step: u64,
    /// Loss of the batch before the update, in nats per token.
    pub loss: f32,
    /// Learning rate of the update.
    pub lr: f32,
    /// Norm of the gradient before clipping.
    pub grad_norm: f32,
    /// Tokens in the batch.
    pub tokens: u64,
    /// A hook left the update out: the weights are as before.
    pub skipped: bool,
}

/// What becomes of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The weights are moved.
    Update,
    /// The step counts, but weights and optimizer stay as they are.
    Skip,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every planned step is done.
    AllSteps,
    /// A hook gave it up between two steps or inside one, which then is not done.
    Interrupted,
    /// The time was up.
    TimeIsUp {
        /// Planned steps that were not done.
        left: u64,
    },
    /// The validation loss no longer fell.
    NoProgress,
}

/// Goes on, or ends the run for this reason.
pub type Flow = ControlFlow<Ending>;

/// What is called during a run. Every method has a default that does nothing; implement those you
/// need. `()` is no hook, and two hooks in a pair are called one after the other.
///
/// A method that fails ends the run with its error; errors of your own go through
/// [`Error::Hook`](crate::Error::Hook).
pub trait Hooks: Send {
    /// Whether to give up what is not done yet; asked before each micro-batch, and after a
    /// measurement.
    fn interrupted(&mut self) -> bool {
        false
    }

    /// Whether each update waits for [`before_update`](Hooks::before_update) and [`check`](Hooks::check), or for how many steps
    /// [`steps_left`](Hooks::steps_left) wants. Where none does, a device may be a step ahead of its reports.
    fn waits(&mut self) -> bool {
        true
    }

    /// Between backward and update.
    ///
    /// # Errors
    /// The hook's own; the weights are then as before.
    fn before_update(&mut self, _pending: &mut Pending<'_>) -> Result<()> {
        Ok(())
    }

    /// The gradient's norm is known and everything is finite; may leave the update out. Of several
    /// processes all must come to the same, by [`Work::broadcast`] for example.
    ///
    /// # Errors
    /// The hook's own; the weights are then as before.
    fn check(&mut self, _report: &StepReport, _work: &mut dyn Work) -> Result<Verdict> {
        Ok(Verdict::Update)
    }

    /// Whether [`after_step`](Hooks::after_step) or [`before_next`](Hooks::before_next) will look at
    /// the weights of this step, which may lie on a device; they are those of an earlier step else.
    fn needs_weights(&mut self, _step: u64) -> bool {
        false
    }

    /// After each step.
    ///
    /// # Errors
    /// The hook's own.
    fn after_step(&mut self, _run: Snapshot<'_>, _report: &StepReport) -> Result<Flow> {
        Ok(Flow::Continue(()))
    }

    /// Measures in a way of its own, with those who work
    /// ([`evaluate_together`](super::evaluate_together)); `None` leaves it to the plan's validation
    /// data.
    ///
    /// # Errors
    /// The hook's own.
    fn evaluate(&mut self, _run: Snapshot<'_>, _work: &mut dyn Work) -> Result<Option<Evaluation>> {
        Ok(None)
    }

    /// After each measurement.
    ///
    /// # Errors
    /// The hook's own.
    fn evaluated(&mut self, _run: Snapshot<'_>, _evaluation: &Evaluation) -> Result<Flow> {
        Ok(Flow::Continue(()))
    }

    /// When a save is due.
    ///
    /// # Errors
    /// The hook's own.
    fn save(&mut self, _run: Snapshot<'_>) -> Result<()> {
        Ok(())
    }

    /// Before the next step, when everything that was due is done; `left` steps are still planned.
    ///
    /// # Errors
    /// The hook's own.
    fn before_next(&mut self, _run: Snapshot<'_>, _left: u64) -> Result<Flow> {
        Ok(Flow::Continue(()))
    }

    /// How many steps there are still to be, of which `left` are planned: after
    /// [`before_next`](Hooks::before_next). Where it is another number, the recipe's end moves, and a
    /// horizon of the rate that ended with it. Of several processes all must come to the same.
    ///
    /// # Errors
    /// The hook's own.
    fn steps_left(&mut self, _run: Snapshot<'_>, left: u64, _work: &mut dyn Work) -> Result<u64> {
        Ok(left)
    }
}

/// No hooks.
impl Hooks for () {
    fn waits(&mut self) -> bool {
        false
    }
}

/// One after the other; the first that ends the run or leaves an update out is heard.
impl<A: Hooks, B: Hooks> Hooks for (A, B) {
    fn interrupted(&mut self) -> bool {
        self.0.interrupted() || self.1.interrupted()
    }

    fn waits(&mut self) -> bool {
        self.0.waits() | self.1.waits()
    }

    fn before_update(&mut self, pending: &mut Pending<'_>) -> Result<()> {
        self.0.before_update(pending)?;
        self.1.before_update(pending)
    }

    fn check(&mut self, report: &StepReport, work: &mut dyn Work) -> Result<Verdict> {
        let both = [self.0.check(report, work)?, self.1.check(report, work)?];
        Ok(if both.contains(&Verdict::Skip) { Verdict::Skip } else { Verdict::Update })
    }

    fn needs_weights(&mut self, step: u64) -> bool {
        self.0.needs_weights(step) | self.1.needs_weights(step)
    }

    fn after_step(&mut self, run: Snapshot<'_>, report: &StepReport) -> Result<Flow> {
        Ok(first_break([self.0.after_step(run, report)?, self.1.after_step(run, report)?]))
    }

    fn evaluate(&mut self, run: Snapshot<'_>, work: &mut dyn Work) -> Result<Option<Evaluation>> {
        match self.0.evaluate(run, work)? {
            None => self.1.evaluate(run, work),
            measured => Ok(measured),
        }
    }

    fn evaluated(&mut self, run: Snapshot<'_>, evaluation: &Evaluation) -> Result<Flow> {
        Ok(first_break([self.0.evaluated(run, evaluation)?, self.1.evaluated(run, evaluation)?]))
    }

    fn save(&mut self, run: Snapshot<'_>) -> Result<()> {
        self.0.save(run)?;
        self.1.save(run)
    }

    fn before_next(&mut self, run: Snapshot<'_>, left: u64) -> Result<Flow> {
        Ok(first_break([self.0.before_next(run, left)?, self.1.before_next(run, left)?]))
    }

    fn steps_left(&mut self, run: Snapshot<'_>, left: u64, work: &mut dyn Work) -> Result<u64> {
        let left = self.0.steps_left(run, left, work)?;
        self.1.steps_left(run, left, work)
    }
}

fn first_break([first, second]: [Flow; 2]) -> Flow {
    if first.is_break() { first } else { second }
}

/// The methods of a hook that only hand on.
macro_rules! hand_on {
    ($(fn $name:ident($($arg:ident: $type:ty),*) -> $out:ty;)+) => {$(
        fn $name(&mut self, $($arg: $type),*) -> $out {
            (**self).$name($($arg),*)
        }
    )+};
}

/// Borrowed, so that it can be inspected after the run.
impl<H: Hooks + ?Sized> Hooks for &mut H {
    hand_on! {
        fn interrupted() -> bool;
        fn waits() -> bool;
        fn before_update(pending: &mut Pending<'_>) -> Result<()>;
        fn check(report: &StepReport, work: &mut dyn Work) -> Result<Verdict>;
        fn needs_weights(step: u64) -> bool;
        fn after_step(run: Snapshot<'_>, report: &StepReport) -> Result<Flow>;
        fn evaluate(run: Snapshot<'_>, work: &mut dyn Work) -> Result<Option<Evaluation>>;
        fn evaluated(run: Snapshot<'_>, evaluation: &Evaluation) -> Result<Flow>;
        fn save(run: Snapshot<'_>) -> Result<()>;
        fn before_next(run: Snapshot<'_>, left: u64) -> Result<Flow>;
        fn steps_left(run: Snapshot<'_>, left: u64, work: &mut dyn Work) -> Result<u64>;
    }
}
