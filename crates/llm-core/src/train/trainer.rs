//! One training step, and the state that goes from step to step.

use crate::autograd::Gradients;
use crate::data::{Batch, TokenDataset};
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
        let loss = model.loss(batch)?;
        let grads = loss.backward()?;
        let clipping = span("clip");
        let norm = grad_norm(model.parameters(), &grads);
        drop(clipping);
        let report = StepReport {
            step: step + 1,
            loss: loss.item(),
            lr,
            grad_norm: norm as f32,
            tokens: batch.inputs.len() as u64,
        };
        check_finite(model, &grads, &report)?;
        let _span = span("adamw");
        optimizer.step(model.parameters_mut(), &grads, lr, clip_scale(norm, clip))?;
        Ok(report)
    })
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
    /// [`Error::DataTooSmall`]; [`Error::Diverged`], then nothing has changed.
    pub fn step(&mut self, data: &TokenDataset) -> Result<StepReport> {
        let recipe = &self.recipe;
        let batch = data.batch(recipe.seed, self.step, [recipe.batch_size, recipe.seq_len])?;
        let lr = recipe.schedule.at(self.step);
        let clip = recipe.clip;
        let report = train_step(&mut self.model, &mut self.optimizer, &batch, self.step, lr, clip)?;
        self.step = report.step;
        Ok(report)
    }
}
