//! One training step: the whole method.

use super::hooks::{Hooks, Pending, StepReport, Verdict};
use super::work::{NonFinite, Work};
use crate::base::{Error, Result};
use crate::kernels::parallel;
use crate::message;
use crate::model::{Batch, TinyGPT};
use crate::optim::{Optimizer, clip_scale};
use crate::profile::enter;

/// What decides a step besides weights and batches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Update {
    /// Steps done before.
    pub step: u64,
    /// Learning rate.
    pub lr: f32,
    /// Largest gradient norm; 0: no clipping.
    pub clip: f32,
}

/// The whole method: loss and backward of each micro-batch, the mean over the targets of all of
/// them, clip, update.
///
/// ```text
/// g = Σₘ nₘ/N · ∇ loss(batch m)      by a binary tree over m, see [`Tree`](super::Tree)
/// θ ← optimizer(θ, g · min(1, clip/‖g‖), lr)
/// ```
///
/// nₘ are the targets of micro-batch m that count, N = Σₘ nₘ. The batches say N themselves
/// ([`Batch::step_targets`]); where they do not, each counts 1/M.
///
/// One batch is a step of one micro-batch: `[data.batch(..)]`. Several are asked for one after the
/// other, as they are needed; the update is that of one batch of all of them. Who does it is `work`: usually [`OneProcess`](super::OneProcess).
///
/// # Errors
/// [`Error::Config`] when the rate is not finite, the clip is NaN or there is no batch,
/// [`Error::Diverged`] when the loss or a gradient is not finite, [`Error::Stopped`] when a hook
/// gave the step up, and whatever batches, hooks and optimizer say. The weights are then as before.
/// [`Error::Unusable`] when the update itself left the range of f32: these weights are lost.
pub fn train_step(
    model: &mut TinyGPT,
    optimizer: &mut dyn Optimizer,
    batches: impl IntoIterator<Item = Result<Batch>, IntoIter: ExactSizeIterator + Send>,
    update: Update,
    work: &mut dyn Work,
    hooks: &mut dyn Hooks,
) -> Result<StepReport> {
    let _span = enter("train_step");
    let batches = batches.into_iter();
    update.check(batches.len())?;
    let Update { step, lr, clip } = update;
    let stopped = || Err(Error::Stopped { step });
    parallel::awake(|| {
        let mut mine = batches.map(|batch| if hooks.interrupted() { stopped() } else { batch });
        let (mut grads, mut loss, tokens) = work.gradients(model, &mut mine, step)?;
        drop(mine);
        let pending = &mut Pending { model, grads: &mut grads, loss: &mut loss, step, tokens };
        hooks.before_update(pending)?;
        let norm = work.norm(model, &grads)?;
        let (step, loss, grad_norm) = (step + 1, loss as f32, norm as f32);
        let report = StepReport { step, loss, lr, grad_norm, tokens, skipped: false };
        check_finite(&report, || work.first_non_finite(model, &grads))?;
        if hooks.check(&report, work)? == Verdict::Skip {
            return Ok(StepReport { skipped: true, ..report });
        }
        work.update(model, optimizer, &grads, lr, clip_scale(norm, clip))?;
        work.check(model, report.step)?;
        Ok(report)
    })
}

impl Update {
    pub(super) fn check(&self, batches: usize) -> Result<()> {
        let finite = self.lr.is_finite();
        Error::unless(finite, "lr", message!("{} is not a finite number", self.lr))?;
        let why = message!("NaN is no gradient norm; 0 switches clipping off");
        Error::unless(!self.clip.is_nan(), "clip", why)?;
        Error::unless(batches > 0, "batches", message!("a step needs one or more"))
    }
}

/// `Err(Diverged)` naming the loss, or the parameter with a non-finite gradient.
fn check_finite(report: &StepReport, found: impl FnOnce() -> Result<NonFinite>) -> Result<()> {
    if report.loss.is_finite() && report.grad_norm.is_finite() {
        return Ok(());
    }
    let (what, value) = match found()? {
        Some((name, bad)) if report.loss.is_finite() => (message!("the gradient of {}", name), bad),
        _ if report.loss.is_finite() => (message!("the gradient norm"), report.grad_norm),
        _ => (message!("the loss"), report.loss),
    };
    let StepReport { step, lr, grad_norm, .. } = *report;
    Err(Error::Diverged { what, value, step, lr, grad_norm })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::OneProcess;
    use crate::{AdamW, Config, Hyperparameters};

    #[test]
    fn a_step_that_would_ruin_the_weights_is_not_taken() {
        let start = TinyGPT::new(Config::new(3, 2, 2, 1), 1).unwrap();
        let fine = Update { step: 0, lr: 0.1, clip: 1.0 };
        let step = |update, batches: usize| {
            let mut model = start.clone();
            let mut adamw = AdamW::new(Hyperparameters::default()).unwrap();
            let batch = |_| Ok(Batch::new(vec![0, 1], vec![1, 2], [1, 2]));
            let batches: Vec<_> = (0..batches).map(batch).collect();
            let done =
                train_step(&mut model, &mut adamw, batches, update, &mut OneProcess, &mut ());
            (done, model.wte.data() != start.wte.data(), adamw.state().t)
        };
        for (update, batches, field) in [
            (Update { lr: f32::NAN, ..fine }, 1, "lr"),
            (Update { lr: f32::INFINITY, ..fine }, 1, "lr"),
            (Update { lr: f32::NEG_INFINITY, ..fine }, 1, "lr"),
            (Update { clip: f32::NAN, ..fine }, 1, "clip"),
            (fine, 0, "batches"),
        ] {
            let (done, changed, updates) = step(update, batches);
            let refused = done.unwrap_err();
            assert!(matches!(refused, Error::Config { field: f, .. } if f == field), "{refused}");
            assert_eq!((changed, updates), (false, 0), "{update:?}");
        }
        let (done, changed, updates) = step(fine, 2);
        assert_eq!((done.is_ok(), changed, updates), (true, true, 1));
    }
}
