//! The settings of a run.

use super::row::{Row, Typed, named, own, row, typed};
use crate::base::Value;
use crate::kernels::gemm::Precision;
use crate::model::WindowOrder;
use crate::optim::ScheduleKind;
use crate::recipe::{LossOn, Recipe};

named!(ScheduleKind, Precision, LossOn, WindowOrder);

/// The name of the optimizer. The caller knows which names there are: see [`Recipe::check_with`].
const OPTIMIZER: Row<Recipe> = Row {
    key: "train.optimizer",
    field: "optimizer",
    choices: |_| Vec::new(),
    later: false,
    get: |recipe| Typed::to_value(&recipe.optimizer),
    put: |recipe, value| {
        recipe.optimizer = typed("train.optimizer", value)?;
        Ok(())
    },
};

/// Every field of [`Recipe`] but the two that say where data came from, and the optimizer's own
/// numbers. What each is for, and where a new run begins, is in its row of
/// `llm_run::settings::table`.
pub const RECIPE: &[Row<Recipe>] = &[
    row!("train.batch_size", batch_size, "batch_size"),
    row!("train.accum", accum, "accum"),
    row!("train.seq_len", seq_len, "seq_len"),
    row!("train.total_steps", total_steps, "total_steps"),
    row!("train.schedule", schedule.kind, "schedule"),
    row!("train.lr", schedule.lr, "lr"),
    row!("train.min_lr", schedule.min_lr, "min_lr"),
    row!("train.warmup_steps", schedule.warmup_steps, "warmup_steps"),
    row!("train.decay_steps", schedule.decay_steps, "decay_steps"),
    OPTIMIZER,
    row!("train.beta1", hyperparameters.beta1, "beta1"),
    row!("train.beta2", hyperparameters.beta2, "beta2"),
    row!("train.eps", hyperparameters.eps, "eps"),
    row!("train.weight_decay", hyperparameters.weight_decay, "weight_decay"),
    row!("train.decay_all", hyperparameters.decay_all, "decay_all"),
    row!("train.clip", clip, "clip"),
    row!(later "train.matmul", matmul, "matmul"),
    row!("train.seed", seed, "seed"),
    row!("train.val_frac", val_frac, "val_frac"),
    row!(later "train.loss_on", loss_on, "loss_on"),
    row!(later "train.order", order, "order"),
    row!(later "train.reward", reward, "reward"),
    row!(later "train.group", group, "group"),
    row!(later "train.answer_length", answer_length, "answer_length"),
    row!(later "train.scaled", scaled, "scaled"),
    row!(later "train.updates", updates, "updates"),
    row!(later "train.clip_ratio", clip_ratio, "clip_ratio"),
    row!(later "train.beta", beta, "beta"),
    row!(later "train.start", start, "start"),
];
