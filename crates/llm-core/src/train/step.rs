//! One training step: the whole method.

use super::StepReport;
use super::accumulate::Tree;
use super::beside::Last;
use super::hooks::{Hooks, Pending, Verdict};
use super::together;
use super::usable::check_weights;
use crate::autograd::Gradients;
use crate::base::{Error, Result};
use crate::kernels::parallel;
use crate::message;
use crate::model::{Batch, Mode, TinyGPT};
use crate::optim::{Divided, Optimizer, clip_scale, grad_norm};
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

/// The whole method: loss and backward of each micro-batch, the mean over all of them, clip,
/// update.
///
/// ```text
/// g = 1/M · Σₘ ∇ loss(batch m)      by a binary tree over m, see [`Tree`]
/// θ ← optimizer(θ, g · min(1, clip/‖g‖), lr)
/// ```
///
/// One batch is a step of one micro-batch: `[data.batch(..)]`. Several are asked for one after the
/// other, as they are needed; when they are of one size, the update is that of one batch of all of
/// them.
///
/// With a crew ([`Hooks::crew`]) the batches are this member's, equally many for each, and M counts
/// those of all. Gradients are summed over the members while that of the last micro-batch is made.
/// Every member ends with the bits that one alone would have.
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
    hooks: &mut dyn Hooks,
) -> Result<StepReport> {
    let _span = enter("train_step");
    let batches = batches.into_iter();
    if !update.lr.is_finite() {
        return Err(Error::config("lr", message!("{} is not a finite number", update.lr)));
    }
    if update.clip.is_nan() {
        return Err(Error::config(
            "clip",
            message!("NaN is no gradient norm; 0 switches clipping off"),
        ));
    }
    if batches.len() == 0 {
        return Err(Error::config("batches", message!("a step needs one or more")));
    }
    parallel::awake(|| {
        let members = hooks.crew().map(|crew| crew.size());
        let count = batches.len();
        let share = 1.0 / (count * members.unwrap_or(1)) as f32;
        let mut sum = Tree::default();
        let (mut stopped, mut last) = (false, None);
        for (i, batch) in batches.enumerate() {
            stopped = hooks.interrupted();
            if stopped {
                break;
            }
            let batch = batch?;
            if members.is_some() && i + 1 == count {
                last = Some(batch); // its way back goes beside the sums over the members
                break;
            }
            let loss = model.loss(&batch, Mode::Training)?;
            let grads = loss.backward_into(Gradients::default(), share)?;
            sum.push(grads, f64::from(loss.item()) * f64::from(share), batch.inputs.len() as u64);
        }
        let divided = Divided::of(optimizer).is_some();
        let (mut grads, mut loss, tokens) = match hooks.crew() {
            Some(crew) => {
                let last = Last { model, batch: last, sum, share, divided, step: update.step };
                last.finish(crew)?
            }
            None if stopped => return Err(Error::Stopped { step: update.step }),
            None => sum.total(),
        };
        let (grads_mut, loss_mut, step) = (&mut grads, &mut loss, update.step);
        let pending = &mut Pending { model, grads: grads_mut, loss: loss_mut, step, tokens };
        hooks.before_update(pending)?;
        let Update { step, lr, clip } = update;
        let loss = loss as f32;
        let report = StepReport { step, loss, lr, grad_norm: 0.0, tokens, skipped: false };
        apply(model, optimizer, &grads, report, clip, hooks)
    })
}

/// Clips and updates, unless something is not finite. `report.step` is the steps done before.
fn apply(
    model: &mut TinyGPT,
    optimizer: &mut dyn Optimizer,
    grads: &Gradients,
    report: StepReport,
    clip: f32,
    hooks: &mut dyn Hooks,
) -> Result<StepReport> {
    let norm = match (Divided::of(optimizer), hooks.crew()) {
        (Some(divided), Some(crew)) => together::norm(crew, divided, model, grads)?,
        _ => grad_norm(model.parameters(), grads),
    };
    let report = StepReport { step: report.step + 1, grad_norm: norm as f32, ..report };
    check_finite(&report, || match (Divided::of(optimizer), hooks.crew()) {
        (Some(divided), Some(crew)) => together::culprit(crew, divided, model, grads),
        _ => Ok(culprit(model, grads)),
    })?;
    if hooks.check(&report)? == Verdict::Skip {
        return Ok(StepReport { skipped: true, ..report });
    }
    let scale = clip_scale(norm, clip);
    match (Divided::of(optimizer), hooks.crew()) {
        (Some(divided), Some(crew)) => {
            let parameters = model.parameters_mut().collect();
            divided.step_together(crew, parameters, grads, report.lr, scale)?;
        }
        _ => optimizer.step(&mut model.parameters_mut(), grads, report.lr, scale)?,
    }
    check_weights(model, report.step)?;
    Ok(report)
}

/// The first parameter with a gradient that is not finite, and that number.
fn culprit(model: &TinyGPT, grads: &Gradients) -> Option<(String, f32)> {
    model.parameters().find_map(|(name, p)| {
        let bad = grads.get(p)?.iter().find(|g| !g.is_finite())?;
        Some((name, *bad))
    })
}

/// `Err(Diverged)` naming the loss, or the gradient that is not finite, which `culprit` finds.
fn check_finite(
    report: &StepReport,
    culprit: impl FnOnce() -> Result<Option<(String, f32)>>,
) -> Result<()> {
    if report.loss.is_finite() && report.grad_norm.is_finite() {
        return Ok(());
    }
    let (what, value) = match culprit()? {
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
            let done = train_step(&mut model, &mut adamw, batches, update, &mut ());
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
