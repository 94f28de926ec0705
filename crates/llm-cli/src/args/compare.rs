//! Flags of `compare`.

use super::data::{DataAs, TextEnds};
use super::{ModelArgs, OutputArgs, RecipeArgs, TokenizerArgs, TrainArgs};
use crate::flags::{Typed, VAL_FRAC};
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use std::path::PathBuf;

/// `--variants`, where there is such a flag: see [`variants_arg`].
#[derive(Clone, Debug, Default)]
pub struct VariantNames(pub Vec<String>);

/// `--variants`, for a program that offers what they differ in.
pub(super) fn variants_arg() -> Arg {
    Arg::new("variants").long("variants").value_name("NAME,NAME,...").value_delimiter(',').help(
        "Compare kinds of models: mha, gqa:2, mqa, rope, rope:500000, nope, window:64, qk-norm, rms, \
         swiglu, relu2, gpt2, llama, qwen3; several parts of one are joined by +, rope+window:64",
    )
}

impl Args for VariantNames {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl FromArgMatches for VariantNames {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut typed = Self::default();
        typed.update_from_arg_matches(matches)?;
        Ok(typed)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        let names = matches.try_get_many::<String>("variants").ok().flatten();
        self.0 = names.into_iter().flatten().map(|name| name.trim().to_string()).collect();
        Ok(())
    }
}

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
    /// Kinds of models beside each other, where the program offers a choice.
    #[command(flatten)]
    pub kinds: VariantNames,
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
