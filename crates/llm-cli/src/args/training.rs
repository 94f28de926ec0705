//! Flags of a training run. Every one is optional: what is not given comes from the checkpoint,
//! the preset or the built-in values, in that order.

use super::data::{DataAs, TextEnds};
use super::duration::duration;
use super::{CrewArgs, NanoGptFlags, OutputArgs, ProbeArgs, SamplingArgs, TRAIN_PY, TokenizerArgs};
use crate::crew::members;
use crate::flags::{Further, LEARNING, LENGTH, OPTIONS, SEED, SIZES, Typed, VAL_FRAC};
use clap::Args;
use clap::builder::{
    BoolishValueParser, PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser,
};
use llm_run::arch::Arch;
use llm_run::defaults::Preset;
use llm_run::options::{Habits, Options};
use llm_run::settings::Given;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Everything that training takes.
#[derive(Clone, Debug, Default, Args)]
pub struct TrainArgs {
    /// Settings from a TOML file, its keys named like flags (lr = 1e-3); flags typed here win,
    /// paths in it count from the current folder
    #[arg(long, value_name = "FILE", help_heading = "Settings")]
    pub config: Option<PathBuf>,
    /// Print all settings as such a file, and do nothing
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new(), value_name = "0|1", help_heading = "Settings")]
    pub print_config: Option<bool>,
    /// Text to learn: files and folders, also packed with gzip; `-` is standard input [default:
    /// built-in stories]
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Data")]
    pub data: Vec<PathBuf>,
    /// nanoGPT's name for data/NAME/train.bin and val.bin beside it.
    #[arg(long, value_name = "NAME", hide = true, conflicts_with_all = ["data", "val"])]
    pub dataset: Option<PathBuf>,
    /// What --data and --val hold, where it is not seen or is no text
    #[arg(long, visible_alias = "tokens", value_name = "KIND", help_heading = "Data")]
    pub data_as: Option<DataAs>,
    /// Where a text ends, and a token says so: none, files (after each of several) or marked
    /// (also where <|endoftext|> is written) [default: files]
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
    /// Go on with other data than the checkpoint was trained on
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new(), value_name = "0|1", help_heading = "Data")]
    pub allow_data_change: Option<bool>,
    /// Sizes.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Number of attention heads; must divide the width
    #[arg(long, visible_aliases = ["n-heads", "n-head"], value_name = "H", help_heading = "Model")]
    pub heads: Option<usize>,
    /// How it learns.
    #[command(flatten)]
    pub recipe: RecipeArgs,
    /// Continue from this checkpoint (or the folder of a run); nothing else is needed
    #[arg(long, visible_alias = "resume", value_name = "FILE", help_heading = "Checkpoints")]
    pub load: Option<PathBuf>,
    /// Save the run in this file (an existing one is replaced)
    #[arg(long, value_name = "FILE", help_heading = "Checkpoints", conflicts_with = "out")]
    pub save: Option<PathBuf>,
    /// Save the run in this folder, as DIR/ckpt/last [default: runs/NNN, the next free number]
    #[arg(long, alias = "out-dir", value_name = "DIR", help_heading = "Checkpoints")]
    pub out: Option<PathBuf>,
    /// Save nothing
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new(), value_name = "0|1", help_heading = "Checkpoints")]
    pub no_save: Option<bool>,
    /// Save the optimizer's moments too, for going on exactly; 1: in `best` as well
    /// [default: 1, but not in `best`]
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new(), value_name = "0|1", help_heading = "Checkpoints")]
    pub save_opt: Option<bool>,
    /// Save after every N steps too; 0: only at the end [default: 250]
    #[arg(long, visible_alias = "save-interval", value_name = "N", help_heading = "Checkpoints")]
    pub save_every: Option<u64>,
    /// Keep the last N periodic checkpoints too, as DIR/ckpt/step-... [default: 0]
    #[arg(long, value_name = "N", help_heading = "Checkpoints", conflicts_with = "save")]
    pub keep: Option<usize>,
    /// Measure the validation loss after every N steps; 0: only at the end [default: 250]
    #[arg(long, visible_alias = "eval-interval", value_name = "N", help_heading = "Output")]
    pub eval_every: Option<u64>,
    /// Report the loss after every N steps; 0: never [default: 10]
    #[arg(long, visible_alias = "log-interval", value_name = "N", help_heading = "Output")]
    pub log_every: Option<u64>,
    /// Write a sample after every N steps too
    #[arg(long, value_name = "N", help_heading = "Output")]
    pub sample_every: Option<u64>,
    /// Learn one batch by heart, as a check of the settings; nothing is saved
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new(), value_name = "0|1", help_heading = "Output", conflicts_with_all = ["load", "save", "out", "accum"])]
    pub overfit: Option<bool>,
    /// Say what would be done, what memory and time it takes here, and do nothing
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new(), value_name = "0|1", help_heading = "Output")]
    pub dry_run: Option<bool>,
    /// Who works on it.
    #[command(flatten)]
    pub crew: CrewArgs,
    /// What is printed.
    #[command(flatten)]
    pub output: OutputArgs,
    /// Text after training.
    #[command(flatten)]
    pub sampling: SamplingArgs,
    /// Probes after training.
    #[command(flatten)]
    pub probes: ProbeArgs,
    /// What nanoGPT's `train.py` takes besides.
    #[command(flatten)]
    pub nano_gpt: NanoGptFlags<TRAIN_PY>,
}

/// Sizes of a new model.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Model")]
pub struct ModelArgs {
    /// Numbers.
    #[command(flatten)]
    pub sizes: Typed<SIZES>,
    /// A set of options: `gpt2` stands for --norm-affine --tied-head --head-bias 0 --init gpt2
    #[arg(long, value_name = "NAME", value_parser = arches(&Arch::EVERYWHERE))]
    pub arch: Option<Arch>,
    /// Choices.
    #[command(flatten)]
    pub options: Typed<OPTIONS>,
    /// Those that not every program offers.
    #[command(flatten)]
    pub further: Further,
}

/// How a model learns.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Training")]
pub struct RecipeArgs {
    /// How long.
    #[command(flatten)]
    pub length: Typed<LENGTH>,
    /// Steps as passes over the training data; with --load: that many more
    #[arg(long, value_name = "X", conflicts_with = "steps")]
    pub epochs: Option<f64>,
    /// How.
    #[command(flatten)]
    pub learning: Typed<LEARNING>,
    /// Take no longer than this (90s, 10m, 1h30m), the last measurement included; save, and leave
    /// the rest to --load
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub max_time: Option<Duration>,
    /// Stop when N measurements in a row bring no better validation loss; 0: never
    #[arg(long, value_name = "N")]
    pub patience: Option<u64>,
    /// Leave out updates whose loss or gradient norm stands out by more than Z standard deviations
    /// (6 is usual); 0: none
    #[arg(long, value_name = "Z")]
    pub skip_spikes: Option<f32>,
    /// What is drawn.
    #[command(flatten)]
    pub seed: Typed<SEED>,
    /// A set of values to start from: `original` has those of the C++ trainer
    #[arg(long, value_name = "NAME", value_parser = preset())]
    pub preset: Option<Preset>,
}

/// Reads the name of one of these sets of options.
pub(super) fn arches(known: &'static [Arch]) -> ValueParser {
    let words = known.iter().map(|arch| {
        let help = match arch {
            Arch::Baseline => "Plain norms, an output head of its own with a bias",
            Arch::Gpt2 => "GPT-2's options",
            Arch::Llama => "Llama's: gains alone, a gated MLP, rotary positions, no biases",
            Arch::Qwen3 => "Qwen3's: Llama's with normed queries and keys, and heads twice as wide",
        };
        PossibleValue::new(arch.name()).help(help)
    });
    let named = |word: String| known.iter().copied().find(|arch| arch.name() == word);
    PossibleValuesParser::new(words).map(move |word| named(word).unwrap_or_default()).into()
}

/// Reads the name of a preset.
fn preset() -> ValueParser {
    let original = PossibleValue::new(Preset::Original.name()).help("The C++ original's");
    PossibleValuesParser::new([original]).map(|_| Preset::Original).into()
}

impl TrainArgs {
    /// The same with the files that `--dataset` stands for.
    pub fn with_dataset(mut self) -> TrainArgs {
        if let Some(name) = self.dataset.take() {
            let folder = Path::new("data").join(name);
            self.data = vec![folder.join("train.bin")];
            self.val = vec![folder.join("val.bin")];
            // Few of GPT-2's numbers look like anything but text.
            self.data_as.get_or_insert(DataAs::U16);
        }
        self
    }

    /// The same with the habits that the run goes on with.
    pub fn with_habits(&self, habits: &Habits) -> TrainArgs {
        let mut args = self.clone();
        let Habits { patience, skip_spikes, .. } = *habits;
        (args.eval_every, args.save_every) = (habits.eval_every, habits.save_every);
        (args.log_every, args.sample_every) = (habits.log_every, habits.sample_every);
        (args.keep, args.save_opt) = (habits.keep, habits.save_opt);
        (args.recipe.patience, args.recipe.skip_spikes) = (patience, skip_spikes);
        args
    }

    /// What the run is asked for.
    pub fn options(&self) -> Options {
        let TrainArgs { recipe, tokenizer, crew, sampling, probes, .. } = self;
        let RecipeArgs { epochs, max_time, patience, skip_spikes, preset, .. } = recipe;
        Options {
            given: self.given(),
            arch: self.model.arch,
            heads: self.heads,
            preset: *preset,
            epochs: *epochs,
            data: self.data.clone(),
            val: self.val.clone(),
            data_as: self.data_as.map(Into::into),
            end_of_text: self.end_of_text.map(Into::into),
            tokenizer: tokenizer.options(),
            allow_data_change: self.allow_data_change,
            load: self.load.clone(),
            save: self.save.clone(),
            out: self.out.clone(),
            no_save: (self.overfit == Some(true)).then_some(true).or(self.no_save),
            habits: Habits {
                eval_every: self.eval_every,
                save_every: self.save_every,
                log_every: self.log_every,
                sample_every: self.sample_every,
                keep: self.keep,
                save_opt: self.save_opt,
                patience: *patience,
                skip_spikes: *skip_spikes,
                remembered: Vec::new(),
            },
            max_time: *max_time,
            members: members(crew.crew),
            shard_optimizer: crew.shard_optimizer,
            writes: sampling.prompt.flag().is_some(),
            reads: probes.any(),
        }
    }

    /// The settings that were given.
    pub fn given(&self) -> Given {
        let TrainArgs { val_frac, model, recipe, .. } = self;
        let RecipeArgs { length, learning, seed, .. } = recipe;
        let of_run = [&val_frac.0, &length.0, &learning.0, &seed.0];
        let of_run = of_run.into_iter().flatten().map(|(flag, value)| (*flag, value.clone()));
        of_run.chain(model.given()).collect()
    }
}

impl ModelArgs {
    /// The settings that were given.
    pub fn given(&self) -> Given {
        let all = [&self.sizes.0, &self.options.0, &self.further.0];
        all.into_iter().flatten().map(|(flag, value)| (*flag, value.clone())).collect()
    }
}
