//! Flags of a training run. Every one is optional: what is not given comes from the checkpoint,
//! the preset or the built-in values, in that order.

use super::duration::duration;
use super::{OutputArgs, ProbeArgs, SamplingArgs, TokenizerArgs};
use crate::defaults::Preset;
use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use llm_core::Config;
use llm_core::model::Init;
use llm_core::optim::ScheduleKind;
use std::path::PathBuf;
use std::time::Duration;

/// Everything that training takes.
#[derive(Debug, Default, Args)]
pub struct TrainArgs {
    /// Settings from a TOML file, its keys named like flags (lr = 1e-3); flags typed here win,
    /// paths in it count from the current folder
    #[arg(long, value_name = "FILE", help_heading = "Settings")]
    pub config: Option<PathBuf>,
    /// Print all settings as such a file, and do nothing
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new(), value_name = "0|1", help_heading = "Settings")]
    pub print_config: Option<bool>,
    /// Text to learn: any bytes; repeatable; `-` is standard input [default: built-in stories]
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    pub data: Vec<PathBuf>,
    /// Share of the data kept for validation, the last part [default: 0.1]
    #[arg(long, value_name = "X", help_heading = "Data")]
    pub val_frac: Option<f64>,
    /// Validation text of its own, repeatable; all of --data is then learnt
    #[arg(
        long,
        visible_alias = "val-data",
        value_name = "FILE",
        help_heading = "Data",
        conflicts_with = "val_frac"
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
    #[arg(long, value_name = "DIR", help_heading = "Checkpoints")]
    pub out: Option<PathBuf>,
    /// Save nothing
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new(), value_name = "0|1", help_heading = "Checkpoints")]
    pub no_save: Option<bool>,
    /// Save the optimizer's moments too, for going on exactly [default: 1]
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
    /// Say what would be done and what memory it takes, and do nothing
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new(), value_name = "0|1", help_heading = "Output")]
    pub dry_run: Option<bool>,
    /// What is printed.
    #[command(flatten)]
    pub output: OutputArgs,
    /// Text after training.
    #[command(flatten)]
    pub sampling: SamplingArgs,
    /// Probes after training.
    #[command(flatten)]
    pub probes: ProbeArgs,
}

/// Sizes of a new model.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Model")]
pub struct ModelArgs {
    /// Context length in tokens; with --load: length of the training windows
    #[arg(long, visible_aliases = ["seq-len", "ctx", "block-size"], value_name = "T")]
    pub seq: Option<usize>,
    /// Width
    #[arg(long, visible_aliases = ["d-model", "n-embd"], value_name = "C")]
    pub dmodel: Option<usize>,
    /// Number of blocks
    #[arg(long, visible_aliases = ["n-layers", "n-layer"], value_name = "L")]
    pub layers: Option<usize>,
    /// A set of options: `gpt2` stands for --norm-affine --tied-head --head-bias 0 --init gpt2
    #[arg(long, value_name = "NAME")]
    pub arch: Option<Arch>,
    /// Norms with gain and bias
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new(), value_name = "0|1")]
    pub norm_affine: Option<bool>,
    /// The output head shares the token table
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new(), value_name = "0|1")]
    pub tied_head: Option<bool>,
    /// The output head has a bias
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new(), value_name = "0|1")]
    pub head_bias: Option<bool>,
    /// How weights start
    #[arg(long, value_name = "KIND")]
    pub init: Option<InitArg>,
}

/// How a model learns.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Training")]
pub struct RecipeArgs {
    /// Steps in all; with --load: that many more
    #[arg(long, visible_aliases = ["max-steps", "max-iters"], value_name = "N")]
    pub steps: Option<u64>,
    /// Steps as passes over the training data; with --load: that many more
    #[arg(long, value_name = "X", conflicts_with = "steps")]
    pub epochs: Option<f64>,
    /// Windows per step
    #[arg(long, visible_alias = "batch-size", value_name = "B")]
    pub batch: Option<usize>,
    /// Micro-batches of B windows per step, for batches that do not fit into memory [default: 1]
    #[arg(long, visible_aliases = ["grad-accum", "gradient-accumulation-steps"], value_name = "N")]
    pub accum: Option<u32>,
    /// Probability that a number inside the model is dropped in training [default: 0]
    #[arg(long, value_name = "P")]
    pub dropout: Option<f32>,
    /// Peak learning rate
    #[arg(long, visible_alias = "learning-rate", value_name = "X")]
    pub lr: Option<f32>,
    /// The rate's course after the warm-up [default: cosine]
    #[arg(long, value_name = "KIND")]
    pub schedule: Option<ScheduleArg>,
    /// Steps until the peak [default: 5 % of the horizon]
    #[arg(long, visible_alias = "warmup-steps", value_name = "N")]
    pub warmup: Option<u64>,
    /// Learning rate at the end [default: a tenth of the peak]
    #[arg(long, value_name = "X")]
    pub min_lr: Option<f32>,
    /// Horizon of the course [default: the steps planned at the start]
    #[arg(long, visible_alias = "lr-decay-iters", value_name = "N")]
    pub decay_steps: Option<u64>,
    /// Largest gradient norm; 0: no clipping [default: 1]
    #[arg(long, visible_alias = "grad-clip", value_name = "X")]
    pub clip: Option<f32>,
    /// Weight decay [default: 0.1]
    #[arg(long, value_name = "X")]
    pub weight_decay: Option<f32>,
    /// Decay biases too, not only matrices
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new(), value_name = "0|1")]
    pub decay_all: Option<bool>,
    /// Decay of AdamW's first moment [default: 0.9]
    #[arg(long, value_name = "X")]
    pub beta1: Option<f32>,
    /// Decay of AdamW's second moment [default: 0.99]
    #[arg(long, value_name = "X")]
    pub beta2: Option<f32>,
    /// Stop after this time (90s, 10m, 1h30m), save, and leave the rest to --load
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub max_time: Option<Duration>,
    /// Stop when N measurements in a row bring no better validation loss
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub patience: Option<u64>,
    /// Leave out updates whose loss or gradient norm stands out by more than Z standard deviations
    /// (6 is usual); not stored, give it again with --load
    #[arg(long, value_name = "Z")]
    pub skip_spikes: Option<f32>,
    /// Seed of weights, batches and samples [default: 1]; with --load: of samples only
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// A set of values to start from: `original` has those of the C++ trainer
    #[arg(long, value_name = "NAME")]
    pub preset: Option<Preset>,
}

/// Sets of model options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Arch {
    /// Plain norms, an output head of its own with a bias.
    Baseline,
    /// GPT-2's options.
    Gpt2,
}

/// Ways weights start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InitArg {
    /// Standard deviation 1/√fan_in.
    FanIn,
    /// GPT-2's.
    Gpt2,
}

impl From<InitArg> for Init {
    fn from(arg: InitArg) -> Init {
        match arg {
            InitArg::FanIn => Init::FanIn,
            InitArg::Gpt2 => Init::Gpt2,
        }
    }
}

impl ModelArgs {
    /// The settings with the options that were given, the sizes as they are.
    pub fn options(&self, sizes: Config) -> Config {
        let Config { vocab_size, seq_len, d_model, n_layers, .. } = sizes;
        let arch = match self.arch {
            None | Some(Arch::Baseline) => Config::new(vocab_size, seq_len, d_model, n_layers),
            Some(Arch::Gpt2) => Config::gpt2(vocab_size, seq_len, d_model, n_layers),
        };
        Config {
            norm_affine: self.norm_affine.unwrap_or(arch.norm_affine),
            tied_head: self.tied_head.unwrap_or(arch.tied_head),
            head_bias: self.head_bias.unwrap_or(arch.head_bias),
            init: self.init.map_or(arch.init, Init::from),
            ..arch
        }
    }
}

impl From<Init> for InitArg {
    fn from(init: Init) -> InitArg {
        match init {
            Init::FanIn => InitArg::FanIn,
            Init::Gpt2 => InitArg::Gpt2,
        }
    }
}

/// Courses of the learning rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScheduleArg {
    /// Always the peak.
    Constant,
    /// Half a cosine down.
    Cosine,
    /// A line down.
    Linear,
    /// Warm-up, stable, decay in the last fifth.
    Wsd,
}

impl From<ScheduleArg> for ScheduleKind {
    fn from(arg: ScheduleArg) -> ScheduleKind {
        match arg {
            ScheduleArg::Constant => ScheduleKind::Constant,
            ScheduleArg::Cosine => ScheduleKind::Cosine,
            ScheduleArg::Linear => ScheduleKind::Linear,
            ScheduleArg::Wsd => ScheduleKind::Wsd,
        }
    }
}

impl From<ScheduleKind> for ScheduleArg {
    fn from(kind: ScheduleKind) -> ScheduleArg {
        match kind {
            ScheduleKind::Constant => ScheduleArg::Constant,
            ScheduleKind::Cosine => ScheduleArg::Cosine,
            ScheduleKind::Linear => ScheduleArg::Linear,
            ScheduleKind::Wsd => ScheduleArg::Wsd,
        }
    }
}
