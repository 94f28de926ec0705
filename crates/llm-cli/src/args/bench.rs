//! The verb `bench`.

use super::OutputArgs;
use super::weights::KINDS;
use crate::flags::Further;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, ValueEnum};
use llm_core::kernels::gemm::Precision;
use llm_run::arch::Arch;
use llm_run::settings::Given;

/// `bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// What to measure; repeatable [default: everything this program can]
    #[arg(long, value_name = "NAME")]
    pub workload: Vec<BenchName>,
    /// Measured steps [default: enough for a stable median]
    #[arg(long, value_name = "N")]
    pub steps: Option<usize>,
    /// Another width than the workload's
    #[arg(long, visible_alias = "d-model", value_name = "C", help_heading = "Sizes")]
    pub dmodel: Option<usize>,
    /// Another number of blocks
    #[arg(long, visible_alias = "n-layers", value_name = "L", help_heading = "Sizes")]
    pub layers: Option<usize>,
    /// Another number of heads
    #[arg(long, visible_alias = "n-heads", value_name = "H", help_heading = "Sizes")]
    pub heads: Option<usize>,
    /// Other windows
    #[arg(long, visible_alias = "seq-len", value_name = "T", help_heading = "Sizes")]
    pub seq: Option<usize>,
    /// Other batches
    #[arg(long, visible_alias = "batch-size", value_name = "B", help_heading = "Sizes")]
    pub batch: Option<usize>,
    /// Another vocabulary
    #[arg(long, visible_alias = "vocab-size", value_name = "V", help_heading = "Sizes")]
    pub vocab: Option<usize>,
    /// Write on after a text of so many tokens [default: 1]
    #[arg(long, value_name = "N", help_heading = "Sizes")]
    pub after: Option<usize>,
    /// What matrices are rounded to when they are multiplied
    #[arg(long, value_name = "KIND", value_parser = ["f32", "bf16"], default_value = "f32", hide_default_value = true, hide_possible_values = true)]
    pub matmul: String,
    /// Write text with weights kept as f32, bf16, q8 or q4
    #[arg(long, value_name = "KIND", value_parser = KINDS, default_value = "f32", hide_default_value = true, hide_possible_values = true)]
    pub weights: String,
    /// What the models are, where the program offers a choice.
    #[command(flatten)]
    pub model: OfModel,
    /// One JSON object a line, for comparing with others
    #[arg(long)]
    pub json: bool,
    /// Threads.
    #[command(flatten)]
    pub output: OutputArgs,
}

impl BenchArgs {
    /// Whether a size of training was given in place of the workload's.
    pub fn resized(&self) -> bool {
        let BenchArgs { dmodel, layers, heads, seq, vocab, batch, .. } = self;
        [dmodel, layers, heads, seq, vocab, batch].iter().any(|size| size.is_some())
    }

    /// Whether a size of writing was given in place of the workload's.
    pub fn sized(&self) -> bool {
        let BenchArgs { dmodel, layers, heads, seq, vocab, after, .. } = self;
        [dmodel, layers, heads, seq, vocab, after].iter().any(|size| size.is_some())
    }
}

/// What a measured model is beyond its sizes. A program that offers no such choice has no such
/// flags.
#[derive(Clone, Debug, Default)]
pub struct OfModel {
    /// Its set of options; none: GPT-2's.
    pub arch: Option<Arch>,
    /// What was typed beside it.
    pub given: Given,
}

impl Args for OfModel {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl FromArgMatches for OfModel {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut typed = Self::default();
        typed.update_from_arg_matches(matches)?;
        Ok(typed)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.given = Further::from_arg_matches(matches)?.0;
        self.arch = matches.try_get_one("arch").ok().flatten().copied();
        Ok(())
    }
}

/// Workloads by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BenchName {
    /// nanoGPT's CPU configuration, 4 heads
    W1,
    /// The same with one head and bytes
    W1h1,
    /// The C++ original's README, one head
    W2,
    /// nanoGPT's baby GPT
    W3,
    /// GPT-2 124M
    W4,
    /// Causal attention alone, two shapes
    Attention,
    /// Writing text with the models of w1 and w4, one token after the other; with one like w4's where a size is given
    Generate,
}

impl BenchArgs {
    /// Whether there is one JSON object a line.
    pub fn json(&self) -> bool {
        self.json || self.output.json()
    }

    /// What matrices are rounded to when they are multiplied.
    pub fn precision(&self) -> Precision {
        match self.matmul.as_str() {
            "bf16" => Precision::Bf16,
            _ => Precision::F32,
        }
    }
}

impl BenchName {
    /// All, in the order of the table.
    pub const ALL: [BenchName; 7] = [
        BenchName::W1,
        BenchName::W1h1,
        BenchName::W2,
        BenchName::W3,
        BenchName::W4,
        BenchName::Attention,
        BenchName::Generate,
    ];

    /// As typed.
    pub fn name(self) -> &'static str {
        match self {
            BenchName::W1 => "w1",
            BenchName::W1h1 => "w1h1",
            BenchName::W2 => "w2",
            BenchName::W3 => "w3",
            BenchName::W4 => "w4",
            BenchName::Attention => "attention",
            BenchName::Generate => "generate",
        }
    }
}
