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
    /// Folder (hf) or file (safetensors, gguf) to write
    #[arg(value_name = "TARGET")]
    pub target: PathBuf,
    /// Checkpoint, or the folder of a run
    #[arg(long, value_name = "FILE")]
    pub load: PathBuf,
    /// How gguf stores the matrices
    #[arg(long = "type", value_name = "TYPE")]
    pub stored: Option<StoredAs>,
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
    /// Folder (hf), file (safetensors, gguf), or what both file names begin with (llm-cpp)
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
    /// One file for llama.cpp and programs that stand on it
    Gguf,
}

/// How the numbers of matrices are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StoredAs {
    /// As they are (default)
    F32,
    /// Rounded to 16 bits each
    Bf16,
    /// Rounded to 8 bits each, with a scale for every 32
    #[value(name = "q8_0")]
    Q8,
}

/// What a model is imported from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ImportFormat {
    /// A folder with a GPT-2, a Llama or its kin as Hugging Face's transformers saves it
    Hf,
    /// A file with this program's own parameter names
    Safetensors,
    /// A file of llama.cpp's with a GPT-2, a Llama or a Qwen3
    Gguf,
    /// PREFIX.json and PREFIX.bin of the C++ original
    LlmCpp,
}
