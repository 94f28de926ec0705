//! Flags of `compare`.

use super::data::{DataAs, TextEnds};
use super::{ModelArgs, OutputArgs, RecipeArgs, TokenizerArgs, TrainArgs};
use crate::flags::{Typed, VAL_FRAC};
use clap::Args;
use std::path::PathBuf;

/// `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Numbers of attention heads, each of which must divide the width: 1,2,4 [default: those of
    /// 1,2,4,8 that do; with --vary one number, as in training]
    #[arg(long, visible_aliases = ["n-heads", "n-head"], value_name = "H,H,...", value_delimiter = ',')]
    pub heads: Vec<usize>,
    /// Compare trainings that differ in this setting, lr=1e-3,3e-3; repeatable: every combination
    #[arg(long, value_name = "FLAG=V,V,...")]
    pub vary: Vec<String>,
    /// Trainings of each, with the seeds --seed, --seed + 1, ... [default: 3]
    #[arg(long, value_name = "N")]
    pub seeds: Option<u64>,
    /// Measure the validation loss of each after every N steps; 0: only at the end [default: 250]
    #[arg(long, visible_alias = "eval-interval", value_name = "N")]
    pub eval_every: Option<u64>,
    /// Where the results go [default: runs/compare-NNN, the next free number]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Text to learn: files and folders; `-` is standard input [default: built-in stories]
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Data")]
    pub data: Vec<PathBuf>,
    /// What --data and --val hold, where it is not seen or is no text
    #[arg(long, visible_alias = "tokens", value_name = "KIND", help_heading = "Data")]
    pub data_as: Option<DataAs>,
    /// Where a text ends: none, files or marked, as in training
    #[arg(long, value_name = "WHERE", help_heading = "Data")]
    pub end_of_text: Option<TextEnds>,
    /// What is unseen.
    #[command(flatten)]
    pub val_frac: Typed<VAL_FRAC>,
    /// Validation text of its own: files and folders; all of --data is then learnt
    #[arg(
        long,
        num_args = 1..,
        visible_alias = "val-data",
        value_name = "FILE",
        help_heading = "Data",
        conflicts_with = "val-frac"
    )]
    pub val: Vec<PathBuf>,
    /// Tokens.
    #[command(flatten)]
    pub tokenizer: TokenizerArgs,
    /// Sizes.
    #[command(flatten)]
    pub model: ModelArgs,
    /// How the models learn.
    #[command(flatten)]
    pub recipe: RecipeArgs,
    /// Has no meaning here, which is said.
    #[arg(long, visible_alias = "resume", value_name = "FILE", hide = true)]
    pub load: Option<PathBuf>,
    /// Likewise.
    #[arg(long, value_name = "FILE", hide = true)]
    pub save: Option<PathBuf>,
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
    /// What is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

impl CompareArgs {
    /// The training of a model with this many heads.
    pub fn training(&self, heads: usize) -> TrainArgs {
        TrainArgs {
            data: self.data.clone(),
            data_as: self.data_as,
            end_of_text: self.end_of_text,
            val_frac: self.val_frac.clone(),
            val: self.val.clone(),
            tokenizer: self.tokenizer.clone(),
            model: self.model.clone(),
            heads: Some(heads),
            recipe: self.recipe.clone(),
            eval_every: self.eval_every,
            output: self.output.clone(),
            ..TrainArgs::default()
        }
    }
}
