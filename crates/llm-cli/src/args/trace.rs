//! `trace`.

use super::{OutputArgs, PromptArgs};
use clap::Args;
use std::path::PathBuf;

/// `trace`.
#[derive(Debug, Args)]
#[command(mut_arg("prompt", |arg| arg.help("Text that the model reads zh: 模型读的文本")))]
pub struct TraceArgs {
    /// Sequence of the batch, from 0 [default: 0]
    /// zh: 批里的哪个序列，从 0 数起 [默认：0]
    #[arg(long, value_name = "B", help_heading = "Place")]
    pub batch_index: Option<usize>,
    /// Head, from 0 [default: 0; in the built-in example the last]
    /// zh: 头，从 0 数起 [默认：0；在内置示例里是最后一个]
    #[arg(long, value_name = "H", help_heading = "Place")]
    pub head: Option<usize>,
    /// Position that asks, from 0 [default: the last]
    /// zh: 提问的位置，从 0 数起 [默认：最后一个]
    #[arg(long, value_name = "I", help_heading = "Place")]
    pub query: Option<usize>,
    /// Position that answers, from 0 [default: the one before --query]
    /// zh: 回答的位置，从 0 数起 [默认：--query 的前一个]
    #[arg(long, value_name = "J", help_heading = "Place")]
    pub key: Option<usize>,
    /// Block of the model, from 0 [default: 0]
    /// zh: 模型的块，从 0 数起 [默认：0]
    #[arg(long, value_name = "L", help_heading = "Place")]
    pub layer: Option<usize>,
    /// Checkpoint, or the folder of a run [default: a built-in example of three positions]
    /// zh: 检查点，或训练目录 [默认：三个位置的内置示例]
    #[arg(long, value_name = "FILE", help_heading = "Model")]
    pub load: Option<PathBuf>,
    /// What the text begins with.
    #[command(flatten, next_help_heading = "Model")]
    pub prompt: PromptArgs,
    /// Number of heads of the built-in example: 1, 2 or 4 [default: 2]
    /// zh: 内置示例的头数：1、2 或 4 [默认：2]
    #[arg(long, visible_alias = "n-heads", value_name = "H", help_heading = "Model")]
    pub heads: Option<usize>,
    /// Put the same sequence into the batch N times [default: 1]
    /// zh: 把同一个序列在批里放 N 次 [默认：1]
    #[arg(long, visible_alias = "batch-size", value_name = "N", help_heading = "Model")]
    pub batch: Option<usize>,
    /// Every term of long sums and every line of long tables
    /// zh: 长和式的每一项、长表格的每一行都显示
    #[arg(long)]
    pub all: bool,
    /// One JSON object with everything
    /// zh: 一个 JSON 对象，内容齐全
    #[arg(long)]
    pub json: bool,
    /// Threads.
    #[command(flatten)]
    pub output: OutputArgs,
}
