//! The command line: what can be typed. What it means is decided in [`plan`](crate::plan).

mod bench;
mod clap_error;
mod command;
mod compare;
mod crew;
mod data;
mod duration;
mod import_export;
mod inspect;
mod nano_gpt;
mod output;
mod prompt;
mod report;
mod runs;
mod sampling;
mod tokenizer;
mod trace;
mod training;
mod weights;

pub use bench::{BenchArgs, BenchName, OfModel};
pub(crate) use clap_error::in_one_line;
pub(crate) use command::TRAIN;
pub use command::command;
pub use compare::CompareArgs;
pub use crew::CrewArgs;
pub use data::{DataAs, TextEnds};
pub use import_export::{ExportArgs, ExportFormat, ImportArgs, ImportFormat, StoredAs};
pub use inspect::{
    HeadName, InspectAttentionArgs, InspectCommand, InspectHeadsArgs, InspectModelArgs,
    InspectPruneArgs, InspectVerb, MeasuredArgs,
};
pub use nano_gpt::{NanoGptFlags, SAMPLE_PY, TRAIN_PY};
pub use output::OutputArgs;
pub use prompt::PromptArgs;
pub(crate) use prompt::number_words;
pub use report::ReportArgs;
pub use runs::{RunsArgs, RunsOrder};
pub use sampling::{ProbeArgs, SamplingArgs};
pub use tokenizer::{
    DecodeArgs, EncodeArgs, InfoArgs, SourceArgs, TokenizerArgs, TokenizerCommand,
    TokenizerTrainArgs, TokenizerVerb,
};
pub use trace::TraceArgs;
pub use training::{ModelArgs, RecipeArgs, TrainArgs};
pub use weights::small_kind;

use crate::lang::Lang;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use weights::KINDS;

/// Everything that can be typed.
#[derive(Debug, Parser)]
#[command(
    version,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    subcommand_precedence_over_arg = false
)]
pub struct Cli {
    /// Without a verb: train.
    #[command(subcommand)]
    pub verb: Option<Verb>,
    /// What training takes.
    #[command(flatten)]
    pub train: TrainArgs,
    // Lang::taken_from has read it before: what comes as far as here is no language.
    /// Language of results, help and errors; the variable LLM_LANG sets it too [default: en]
    #[arg(long, global = true, value_name = "LANG", help_heading = "Output")]
    pub lang: Option<Lang>,
}

/// What can be done besides training.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Write text with a trained model
    Generate(GenerateArgs),
    /// Loss, perplexity, bits per byte and accuracy of a model over a whole file
    Eval(EvalArgs),
    /// Learn a tokenizer, use one, look at one
    Tokenizer(TokenizerCommand),
    /// Look inside a model: its sizes, who looks at whom, what each head does, which can go
    Inspect(InspectCommand),
    /// Follow one number of attention by hand: where it lies, what it is made of
    Trace(TraceArgs),
    /// List runs: what they learn, how far they are, what came of them
    Runs(RunsArgs),
    /// Write a page about a run, also one that was killed, or about several beside each other
    Report(ReportArgs),
    /// Train models that differ in their number of heads, or in any setting, and say what differs
    Compare(Box<CompareArgs>),
    /// Measure the speed of training steps and of attention on this machine
    Bench(BenchArgs),
    /// Write a model for other programs: a Hugging Face folder, or one file (safetensors, GGUF)
    Export(ExportArgs),
    /// Make a checkpoint of a model from another program
    Import(ImportArgs),
    /// Print a completion script for your shell
    Completions {
        /// bash, zsh, fish, elvish or powershell
        shell: clap_complete::Shell,
    },
}

/// `generate`.
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// Checkpoint, or the folder of a run
    #[arg(long, alias = "out-dir", value_name = "FILE")]
    pub load: PathBuf,
    /// How text is drawn.
    #[command(flatten)]
    pub sampling: SamplingArgs,
    /// Seed of the draws [default: the run's]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Keep the weights as f32, bf16, q8 or q4, with 32, 16, 8 or 4 bits each: fewer are faster
    /// where the model is larger than the processor's caches
    #[arg(long, value_name = "KIND", value_parser = KINDS, default_value = "f32", hide_default_value = true, hide_possible_values = true)]
    pub weights: String,
    /// One JSON object for each text, with token numbers and log-probabilities
    #[arg(long)]
    pub json: bool,
    /// What is printed.
    #[command(flatten)]
    pub output: OutputArgs,
    /// What nanoGPT's `sample.py` takes besides.
    #[command(flatten)]
    pub nano_gpt: NanoGptFlags<SAMPLE_PY>,
}

/// `eval`.
#[derive(Debug, Args)]
pub struct EvalArgs {
    /// Checkpoint, or the folder of a run
    #[arg(long, value_name = "FILE")]
    pub load: PathBuf,
    /// Text to score, all of it: files and folders; `-` is standard input [default: the run's own
    /// unseen text]
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub data: Vec<PathBuf>,
    /// What --data holds, where it is not seen or is no text [default: as in training]
    #[arg(long, visible_alias = "tokens", value_name = "KIND")]
    pub data_as: Option<DataAs>,
    /// Windows scored together [default: the run's batch]
    #[arg(long, visible_alias = "batch-size", value_name = "N")]
    pub batch: Option<usize>,
    /// Score the model with weights rounded to bf16, q8 or q4, beside f32
    #[arg(long, value_name = "KIND", value_parser = KINDS, default_value = "f32", hide_default_value = true, hide_possible_values = true)]
    pub weights: String,
    /// Write a row for every scored token into this file as CSV, with --json an object a line:
    /// position, window (where it begins), token, text, loss, prob, rank, first choice; alone or
    /// `-`: to standard output, the table to standard error
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub per_token: Option<PathBuf>,
    /// Write arrays for NumPy, of N scored tokens: tokens, inputs, positions, windows and losses (N),
    /// logits (N × V)
    #[arg(long, value_name = "FILE")]
    pub npz: Option<PathBuf>,
    /// One JSON object; with --per-token one for each token
    #[arg(long)]
    pub json: bool,
    /// What is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}
