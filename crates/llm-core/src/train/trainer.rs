//! One training step, and the state that goes from step to step.

use crate::autograd::Gradients;
use crate::data::{Batch, Origin, TokenDataset};
use crate::error::{Error, Result};
use crate::kernels::parallel;
use crate::model::TinyGPT;
use crate::optim::{AdamW, clip_scale, grad_norm};
use crate::profile::span;
use crate::recipe::Recipe;

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
    /// The watch refused the update: the weights are as before.
    pub skipped: bool,
}

/// Who may interfere with a step.
pub struct Watch<'a> {
    /// Asked before each micro-batch; yes: give the step up.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Shown the step before its update; yes: leave the update out.
    pub skip: &'a mut (dyn FnMut(&StepReport) -> bool + Send),
}

/// The whole method: loss, backward, clip, update.
///
/// `step` is the number of steps done before, `lr` this step's rate, `clip` the largest gradient
/// norm (0: none).
///
/// # Errors
/// [`Error::Diverged`] when the loss or a gradient is not finite; the weights are then as before.
pub fn train_step(
    model: &mut TinyGPT,
    optimizer: &mut AdamW,
    batch: &Batch,
    step: u64,
    lr: f32,
    clip: f32,
) -> Result<StepReport> {
    parallel::awake(|| {
        let loss = model.training_loss(batch)?;
        let grads = loss.backward()?;
        let (loss, tokens) = (loss.item(), batch.inputs.len() as u64);
        let report = StepReport { step, loss, lr, grad_norm: 0.0, tokens, skipped: false };
        update(model, optimizer, &grads, report, clip, &mut |_| false)
    })
}

/// [`train_step`] on several micro-batches as if they were one: the mean of their losses, the mean
/// of their gradients, one update. The memory is that of one micro-batch.
///
/// `batches` are asked for one after the other. When the watch stops the step, nothing has changed
/// and the result is `None`.
///
/// # Errors
/// As [`train_step`], and whatever `batches` says.
pub fn accumulated_step(
    model: &mut TinyGPT,
    optimizer: &mut AdamW,
    batches: impl ExactSizeIterator<Item = Result<Batch>> + Send,
    [lr, clip]: [f32; 2],
    step: u64,
    watch: Watch<'_>,
) -> Result<Option<StepReport>> {
    let Watch { stop, skip } = watch;
    parallel::awake(|| {
        let share = 1.0 / batches.len() as f32;
        let (mut grads, mut mean, mut tokens) = (Gradients::default(), 0.0, 0);
        for batch in batches {
            if stop() {
                return Ok(None);
            }
            let batch = batch?;
            let loss = model.training_loss(&batch)?;
            grads = loss.backward_into(grads, share)?;
            mean += f64::from(loss.item()) * f64::from(share);
            tokens += batch.inputs.len() as u64;
        }
        let loss = mean as f32;
        let report = StepReport { step, loss, lr, grad_norm: 0.0, tokens, skipped: false };
        update(model, optimizer, &grads, report, clip, skip).map(Some)
    })
}

/// Clips and updates, unless something is not finite. `report.step` is the steps done before.
fn update(
    model: &mut TinyGPT,
    optimizer: &mut AdamW,
    grads: &Gradients,
    report: StepReport,
    clip: f32,
    skip: &mut (dyn FnMut(&StepReport) -> bool + Send),
) -> Result<StepReport> {
    let clipping = span("clip");
    let norm = grad_norm(model.parameters(), grads);
    drop(clipping);
    let report = StepReport { step: report.step + 1, grad_norm: norm as f32, ..report };
    check_finite(model, grads, &report)?;
    if skip(&report) {
        return Ok(StepReport { skipped: true, ..report });
    }
    let _span = span("adamw");
    optimizer.step(model.parameters_mut(), grads, report.lr, clip_scale(norm, clip))?;
    Ok(report)
}

/// `Err(Diverged)` naming the loss or the first parameter with a gradient that is not finite.
fn check_finite(model: &TinyGPT, grads: &Gradients, report: &StepReport) -> Result<()> {
    if report.loss.is_finite() && report.grad_norm.is_finite() {
        return Ok(());
    }
    let culprit = model.parameters().find_map(|(name, p)| {
        let bad = grads.get(p)?.iter().find(|g| !g.is_finite())?;
        Some((format!("the gradient of {name}"), *bad))
    });
    let (what, value) = match culprit {
        Some(found) if report.loss.is_finite() => found,
        _ if report.loss.is_finite() => ("the gradient norm".to_string(), report.grad_norm),
        _ => ("the loss".to_string(), report.loss),
    };
    let StepReport { step, lr, grad_norm, .. } = *report;
    Err(Error::Diverged { what, value, step, lr, grad_norm })
}

/// A run between two steps: all that a checkpoint holds.
#[derive(Clone)]
pub struct Trainer {
    /// The weights.
    pub model: TinyGPT,
    /// The moments.
    pub optimizer: AdamW,
    /// The settings.
    pub recipe: Recipe,
    /// Steps done.
    pub step: u64,
}

impl Trainer {
    /// A run at its start.
    ///
    /// # Errors
    /// [`Error::Config`] when a setting is outside its range.
    pub fn new(model: TinyGPT, recipe: Recipe) -> Result<Trainer> {
        recipe.check()?;
        if recipe.seq_len > model.config().seq_len {
            let reason = format!("longer than the model's context of {}", model.config().seq_len);
            return Err(Error::config("seq", reason));
        }
        let optimizer = AdamW::new(recipe.adamw)?;
        Ok(Trainer { model, optimizer, recipe, step: 0 })
    }

    /// The next step. Its batch and learning rate are functions of the recipe and the step's
    /// number alone.
    ///
    /// # Errors
    /// [`Error::DataTooSmall`], [`Error::Diverged`], or [`Error::Io`] from data in files; then
    /// nothing has changed.
    pub fn step(&mut self, data: &TokenDataset) -> Result<StepReport> {
        let watch = Watch { stop: &|| false, skip: &mut |_| false };
        let report = self.watched_step(data, watch)?;
        Ok(report.expect("nobody stops it"))
    }

    /// [`Trainer::step`] under a watch. When that stops the step, nothing has changed and the
    /// result is `None`; a skipped step counts, but leaves weights and moments as they are.
    ///
    /// # Errors
    /// As [`Trainer::step`].
    pub fn watched_step(
        &mut self,
        data: &TokenDataset,
        watch: Watch<'_>,
    ) -> Result<Option<StepReport>> {
        let Recipe { seed, batch_size, seq_len, accum, schedule, clip, .. } = self.recipe;
        let step = self.step;
        let rows = (0..accum).map(|micro| {
            let first_row = u64::from(micro) * batch_size as u64;
            data.rows(Origin { seed, step, first_row }, [batch_size, seq_len])
        });
        let rates = [schedule.at(step), clip];
        let (model, optimizer) = (&mut self.model, &mut self.optimizer);
        let report = accumulated_step(model, optimizer, rows, rates, step, watch)?;
        self.step = report.map_or(self.step, |r| r.step);
        Ok(report)
    }
}
