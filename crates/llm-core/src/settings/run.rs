//! The settings of a run.

use super::row::{Row, Typed, named, own, row, typed};
use crate::base::Value;
use crate::kernels::gemm::Precision;
use crate::optim::ScheduleKind;
use crate::recipe::{LossOn, Recipe};

named!(ScheduleKind, Precision, LossOn);

/// Which names there are, the caller knows: see [`Recipe::check_with`].
const OPTIMIZER: Row<Recipe> = Row {
    key: "train.optimizer",
    field: "optimizer",
    doc: "what moves the weights, by its name",
    get: |recipe| Typed::to_value(&recipe.optimizer),
    put: |recipe, value| {
        recipe.optimizer = typed("train.optimizer", value)?;
        Ok(())
    },
};

/// Every field of [`Recipe`] but the two that say where data came from, and the optimizer's own.
#[rustfmt::skip]
pub const RECIPE: &[Row<Recipe>] = &[
    row!("train.batch_size", batch_size, "batch_size", "B: windows of a micro-batch"),
    row!("train.accum", accum, "accum", "micro-batches of a step"),
    row!("train.seq_len", seq_len, "seq_len", "length of a training window"),
    row!("train.total_steps", total_steps, "total_steps", "steps planned in all"),
    row!("train.schedule", schedule.kind, "schedule", "the learning rate's course after the warm-up"),
    row!("train.lr", schedule.lr, "lr", "the highest learning rate"),
    row!("train.min_lr", schedule.min_lr, "min_lr", "the learning rate at the end"),
    row!("train.warmup_steps", schedule.warmup_steps, "warmup_steps", "steps until the highest learning rate"),
    row!("train.decay_steps", schedule.decay_steps, "decay_steps", "steps until the lowest learning rate"),
    OPTIMIZER,
    row!("train.beta1", hyperparameters.beta1, "beta1", "decay of the gradient's running mean"),
    row!("train.beta2", hyperparameters.beta2, "beta2", "decay of the squared gradient's running mean"),
    row!("train.eps", hyperparameters.eps, "eps", "added to the root of the squared gradient's mean"),
    row!("train.weight_decay", hyperparameters.weight_decay, "weight_decay", "how much weights shrink, times the learning rate"),
    row!("train.decay_all", hyperparameters.decay_all, "decay_all", "biases and gains shrink too, not matrices alone"),
    row!("train.clip", clip, "clip", "largest norm of the gradient; 0: any"),
    row!("train.matmul", matmul, "matmul", "what products round their matrices to"),
    row!("train.seed", seed, "seed", "of weights, batches and whatever else is drawn"),
    row!("train.val_frac", val_frac, "val_frac", "share of the tokens kept for validation"),
    row!("train.loss_on", loss_on, "loss_on", "which tokens of conversations are learned"),
];
