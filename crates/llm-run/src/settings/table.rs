//! All rows: which settings there are, where each starts, what each does where a run goes on.

use super::attention::ATTENTION;
use super::given::{Given, whole};
use super::row::Initial::{By, Follows};
use super::row::{OnLoad, Setting, fixed, row};
use crate::models::Models;
use llm_core::message;
use llm_core::optim::{AdamW, Muon, ScheduleKind};
use llm_core::recipe::Recipe;
use llm_core::settings::Value;

/// Settings of core that a run may be asked for, the values of a new one by what it starts from: the
/// stories, text, the original's preset.
#[rustfmt::skip]
pub const SETTINGS: [Setting; 28] = [
    Setting { initial: By(|start| Value::Double(start.of([0.1, 0.1, 0.0]))), ..row("train.val_frac", "val_frac") },
    Setting { initial: By(|start| Value::Whole(start.of([256, 64, 64]))), ..row("train.seq_len", "seq") },
    Setting { initial: By(|start| Value::Whole(start.of([64, 128, 64]))), ..fixed("model.d_model", "dmodel") },
    Setting { initial: By(|start| Value::Whole(start.of([2, 4, 1]))), ..fixed("model.n_layers", "layers") },
    fixed("model.norm_affine", "norm_affine"),
    fixed("model.tied_head", "tied_head"),
    fixed("model.head_bias", "head_bias"),
    fixed("model.activation", "activation"),
    fixed("model.n_inner", "n_inner"),
    Setting { initial: By(|start| Value::Text(start.of(["zero-out", "zero-out", "fan-in"]).into())), ..fixed("model.init", "init") },
    Setting { initial: By(|start| Value::Whole(start.of([800, 2000, 200]))), on_load: OnLoad::MeansOther, ..row("train.total_steps", "steps") },
    Setting { initial: By(|start| Value::Whole(start.of([8, 12, 4]))), ..row("train.batch_size", "batch") },
    row("train.accum", "accum"),
    row("train.loss_on", "loss_on"),
    row("model.dropout", "dropout"),
    Setting { initial: By(|start| Value::Float(start.of([1.2e-2, 4e-3, 3e-4]))), ..row("train.lr", "lr") },
    Setting { initial: By(|start| Value::Text(start.of(["linear", "linear", "constant"]).into())), ..row("train.schedule", "schedule") },
    Setting { initial: Follows(|recipe, given| Value::Whole(warmup(recipe, given))), ..row("train.warmup_steps", "warmup") },
    Setting { initial: Follows(|recipe, _| Value::Float(if falls(recipe) { 0.0 } else { recipe.schedule.lr })), applies: falls,
        ..row("train.min_lr", "min_lr") },
    // A constant rate has none: k steps and n − k more are then n steps, bit for bit.
    Setting { initial: Follows(|recipe, _| Value::Whole(if falls(recipe) { recipe.total_steps } else { 0 })), applies: falls,
        ..row("train.decay_steps", "decay_steps") },
    Setting { initial: By(|start| Value::Float(start.of([1.0, 1.0, 0.0]))), ..row("train.clip", "clip") },
    row("train.matmul", "matmul"),
    Setting { initial: By(|start| Value::Text(start.of([Muon::NAME, Muon::NAME, AdamW::NAME]).into())), report: Some(|| message!("optimizer")),
        ..row("train.optimizer", "optimizer") },
    Setting { initial: By(|start| Value::Float(start.of([0.1, 0.1, 0.01]))), ..row("train.weight_decay", "weight_decay") },
    Setting { initial: By(|start| Value::Bool(start.of([false, false, true]))), ..row("train.decay_all", "decay_all") },
    Setting { initial: By(|start| Value::Float(start.of([0.9, 0.9, 0.9]))), ..row("train.beta1", "beta1") },
    Setting { initial: By(|start| Value::Float(start.of([0.99, 0.99, 0.999]))), ..row("train.beta2", "beta2") },
    Setting { on_load: OnLoad::MeansOther, ..row("train.seed", "seed") },
];

/// What goes beyond the baseline's model: only for those that name it, see [`Models::options`].
pub const FURTHER: [Setting; 6] = [
    fixed("model.norm", "norm"),
    fixed("model.mlp", "mlp"),
    fixed("model.mlp_bias", "mlp_bias"),
    fixed("model.positions", "positions"),
    fixed("model.ngrams", "ngrams"),
    fixed("model.ngram_rows", "ngram_rows"),
];

/// Everything that a model may have beyond the baseline.
pub const ALL_OPTIONS: &[&str] = &{
    let mut names = [""; FURTHER.len() + ATTENTION.len()];
    let mut i = 0;
    while i < names.len() {
        let of_model = i < FURTHER.len();
        names[i] =
            if of_model { FURTHER[i].name } else { ATTENTION[i - FURTHER.len()].setting.name };
        i += 1;
    }
    names
};

/// Every row of core's settings.
pub fn settings() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().chain(&FURTHER)
}

/// The setting's own name, if there is one that is called so.
pub fn of_name(name: &str) -> Option<&'static str> {
    let of_attention = ATTENTION.iter().map(|row| &row.setting);
    settings().chain(of_attention).map(|setting| setting.name).find(|known| *known == name)
}

/// Every row for these models, those of the attention last.
pub fn settings_of(models: &Models) -> impl Iterator<Item = &'static Setting> {
    let of_attention = ATTENTION.iter().map(|row| &row.setting);
    settings()
        .chain(of_attention)
        .filter(move |setting| !ALL_OPTIONS.contains(&setting.name) || models.offers(setting.name))
}

/// Core's settings that no run is asked for, and why.
pub const NOT_ASKED_FOR: &[(&str, &str)] = &[
    ("model.vocab_size", "the tokenizer's"),
    ("model.norm_eps", "that of a model from elsewhere; a new one has core's"),
    ("train.eps", "the same, core's, whatever a run starts from"),
];

/// Whether the rate falls, and so has an end and a horizon.
fn falls(recipe: &Recipe) -> bool {
    recipe.schedule.kind != ScheduleKind::Constant
}

fn warmup(recipe: &Recipe, given: &Given) -> u64 {
    let horizon = whole(given, "decay_steps").unwrap_or(recipe.total_steps);
    if falls(recipe) { horizon / 20 } else { 0 }
}
