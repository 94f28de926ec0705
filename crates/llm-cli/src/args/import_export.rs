//! `export` and `import`.

use super::OutputArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// As what
    #[arg(value_name = "FORMAT")]
    pub format: ExportFormat,
    /// Folder (hf) or file (safetensors) to write
    #[arg(value_name = "TARGET")]
    pub target: PathBuf,
    /// Checkpoint, or the folder of a run
    #[arg(long, value_name = "FILE")]
    pub load: PathBuf,
    /// What is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// From what
    #[arg(value_name = "FORMAT")]
    pub format: ImportFormat,
    /// Folder (hf), file (safetensors), or what both file names begin with (llm-cpp)
    #[arg(value_name = "SOURCE")]
    pub source: PathBuf,
    /// Save the model in this checkpoint (an existing one is replaced)
    #[arg(long, value_name = "FILE")]
    pub save: PathBuf,
    /// Number of attention heads, where the source does not say it
    #[arg(long, visible_alias = "n-heads", value_name = "H")]
    pub heads: Option<usize>,
    /// What is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What a model is exported as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// A folder that Hugging Face's transformers loads as GPT-2, Llama or its kin
    Hf,
    /// One file with this program's own parameter names
    Safetensors,
}

/// What a model is imported from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ImportFormat {
    /// A folder with a GPT-2, a Llama or its kin as Hugging Face's transformers saves it
    Hf,
    /// A file with this program's own parameter names
    Safetensors,
    /// PREFIX.json and PREFIX.bin of the C++ original
    LlmCpp,
}
