//! Every flag of a setting, and where it stands in the help.

use super::row::{Flag, optimizers, word_parser};
use clap::builder::ValueParser;
use llm_run::models::Models;
use llm_run::settings::{ALL_OPTIONS, Setting, all_settings, settings_of};
use std::sync::LazyLock;

/// The heading of each group of flags, by its number.
pub const HEADINGS: [&str; 8] =
    ["Data", "Model", "Model", "Model", "Training", "Training", "Training", "Model"];
/// The share of the data that is not trained on.
pub const VAL_FRAC: usize = 0;
/// Sizes of a model.
pub const SIZES: usize = 1;
/// Options of a model.
pub const OPTIONS: usize = 2;
/// The number of heads.
pub const HEADS: usize = 3;
/// How long a run learns.
pub const LENGTH: usize = 4;
/// How a run learns.
pub const LEARNING: usize = 5;
/// The seed.
pub const SEED: usize = 6;
/// What goes beyond the baseline's model, its attention last. A program has those that its
/// description names, and no other.
pub const FURTHER: usize = 7;

fn group_of(setting: &Setting) -> usize {
    match setting.name {
        "val_frac" => VAL_FRAC,
        "seq" | "dmodel" | "layers" => SIZES,
        "heads" => HEADS,
        "steps" => LENGTH,
        "seed" => SEED,
        name if ALL_OPTIONS.contains(&name) => FURTHER,
        "dropout" => LEARNING,
        _ if setting.key.starts_with("model.") => OPTIONS,
        _ => LEARNING,
    }
}

/// Every flag of a setting, in the order of the help.
pub fn flags() -> &'static [Flag] {
    static FLAGS: LazyLock<Vec<Flag>> = LazyLock::new(|| all_settings().map(Flag::of).collect());
    &FLAGS
}

/// The flags of a group.
pub(super) fn group(number: usize) -> impl Iterator<Item = &'static Flag> {
    flags().iter().filter(move |flag| group_of(flag.setting) == number)
}

/// Every flag of these models.
pub fn flags_of(models: &Models) -> impl Iterator<Item = &'static Flag> {
    let names: Vec<_> = settings_of(models).map(|setting| setting.name).collect();
    flags().iter().filter(move |flag| names.contains(&flag.setting.name))
}

/// Reads the name of an optimizer that these models may be trained with.
pub fn optimizer_parser(models: &Models) -> ValueParser {
    word_parser(optimizers(models.optimizers))
}
