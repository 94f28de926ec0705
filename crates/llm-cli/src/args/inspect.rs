//! `inspect`.

use super::{ModelArgs, OutputArgs, PromptArgs};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::str::FromStr;

/// `inspect`.
#[derive(Debug, Args)]
pub struct InspectCommand {
    /// What to look at.
    #[command(subcommand)]
    pub verb: InspectVerb,
}

/// What can be looked at.
#[derive(Debug, Subcommand)]
pub enum InspectVerb {
    /// Parameters, memory, and what attention costs with one head and with several
    Model(InspectModelArgs),
    /// Who looks at whom: the attention weights of every head for a text
    Attention(InspectAttentionArgs),
    /// What each head does, measured over many windows
    ///
    /// The places: prev, the token before; first, the first token; itself; word, the letters of its own
    /// word; same, earlier mentions of the same word (or token, where tokens are words); after, what
    /// followed the same token before; copy, tokens equal to the one that comes next; sep, spaces,
    /// punctuation and line ends; answer, in the built-in stories, earlier mentions of the word that
    /// has to be told.
    ///
    /// A score is the mean weight that a head puts on such places; below the table stands what even
    /// attention to everything would put there. A role is named only when the score is at
    /// least twice that, and at least a tenth of the way from there to 1; the farthest one wins.
    Heads(InspectHeadsArgs),
    /// What the model loses without each head, and a checkpoint without some
    Prune(InspectPruneArgs),
}

impl InspectVerb {
    /// Where it reports to.
    pub fn output(&self) -> &OutputArgs {
        match self {
            InspectVerb::Model(args) => &args.output,
            InspectVerb::Attention(args) => &args.output,
            InspectVerb::Heads(args) => &args.on.output,
            InspectVerb::Prune(args) => &args.on.output,
        }
    }
}

/// `inspect model`.
#[derive(Debug, Args)]
pub struct InspectModelArgs {
    /// Checkpoint, or the folder of a run [default: a new model of the sizes below]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["vocab", "dmodel", "layers", "heads", "arch", "norm-affine", "tied-head", "head-bias", "init"])]
    pub load: Option<PathBuf>,
    /// Number of different tokens [default: 256]
    #[arg(long, visible_alias = "vocab-size", value_name = "V")]
    pub vocab: Option<usize>,
    /// Number of attention heads; must divide the width
    #[arg(long, visible_aliases = ["n-heads", "n-head"], value_name = "H")]
    pub heads: Option<usize>,
    /// Windows in a batch, for the memory [default: the run's]
    #[arg(long, visible_alias = "batch-size", value_name = "B")]
    pub batch: Option<usize>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
    /// Sizes.
    #[command(flatten)]
    pub model: ModelArgs,
    /// What is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `inspect attention`.
#[derive(Debug, Args)]
#[command(mut_arg("prompt", |arg| arg.help("Text to read [default: the beginning of an unseen story, or \"The cat sat on the mat\"]")))]
pub struct InspectAttentionArgs {
    /// Checkpoint, or the folder of a run
    #[arg(long, value_name = "FILE")]
    pub load: PathBuf,
    /// What the text begins with.
    #[command(flatten)]
    pub prompt: PromptArgs,
    /// Only this block, from 0 (in the terminal, as JSON and as SVG)
    #[arg(long, value_name = "L")]
    pub layer: Option<usize>,
    /// Only this head of each block, from 0
    #[arg(long, value_name = "H")]
    pub head: Option<usize>,
    /// Show the last N tokens of the text only [default: 64; what fits on a terminal]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub last: Option<u32>,
    /// Write a picture of every block, all heads side by side, into this folder
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Write a page with all maps
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write arrays for NumPy: tokens (T) and attention (L × H × T × T), of all tokens unless --last
    /// says fewer
    #[arg(long, value_name = "FILE")]
    pub npz: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
    /// What is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `inspect heads`.
#[derive(Debug, Args)]
pub struct InspectHeadsArgs {
    /// What is measured.
    #[command(flatten)]
    pub on: MeasuredArgs,
}

/// `inspect prune`.
#[derive(Debug, Args)]
#[command(mut_arg("tokens", |arg| arg.help("Measure on at most N tokens, but one window at least, spread evenly over the text [default: 65536]")))]
pub struct InspectPruneArgs {
    /// Windows scored together [default: the run's batch]
    #[arg(long, visible_alias = "batch-size", value_name = "B")]
    pub batch: Option<usize>,
    /// Switch off the N least missed heads, found one after the other
    #[arg(long, value_name = "N")]
    pub drop: Option<usize>,
    /// Switch off these heads: layer.head, from 0 (0.1,1.3)
    #[arg(long, value_name = "L.H", value_delimiter = ',', conflicts_with = "drop")]
    pub drop_heads: Vec<HeadName>,
    /// Save the model without the dropped heads in this checkpoint (an existing one is replaced)
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// What is measured.
    #[command(flatten)]
    pub on: MeasuredArgs,
}

/// A model, unseen text to measure it on, and where the result goes.
#[derive(Debug, Args)]
pub struct MeasuredArgs {
    /// Checkpoint, or the folder of a run
    #[arg(long, value_name = "FILE")]
    pub load: PathBuf,
    /// Text to measure on; `-` is standard input [default: the run's own unseen text]
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub data: Vec<PathBuf>,
    /// Measure on at most N tokens, but one window at least, spread evenly over the text [default: 16384]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub tokens: Option<u64>,
    /// Write a page with what was measured
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
    /// What is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// A head by its place: `layer.head`, both from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadName {
    /// Number of the block.
    pub layer: usize,
    /// Number in the block.
    pub head: usize,
}

impl FromStr for HeadName {
    type Err = String;

    fn from_str(text: &str) -> Result<HeadName, String> {
        let parts = text.split_once('.').and_then(|(layer, head)| {
            Some(HeadName { layer: layer.parse().ok()?, head: head.parse().ok()? })
        });
        parts.ok_or_else(|| "not layer.head, as 0.1".into())
    }
}
