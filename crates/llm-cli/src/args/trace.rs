//! `trace`.

use super::{OutputArgs, PromptArgs};
use crate::words::flags;
use std::path::PathBuf;

flags! {
    /// `trace`.
    #[command(mut_arg("prompt", |arg| arg.help("Text that the model reads zh: 模型读的文本")))]
    pub struct TraceArgs {
        /// Sequence of the batch, from 0 [default: 0]
        /// zh: 批里的哪个序列，从 0 数起 [默认：0]
        batch_index: Option<usize> = "B" [help_heading = "Place"];
        /// Head, from 0 [default: 0; in the built-in example the last]
        /// zh: 头，从 0 数起 [默认：0；在内置示例里是最后一个]
        head: Option<usize> = "H" [help_heading = "Place"];
        /// Position that asks, from 0 [default: the last]
        /// zh: 提问的位置，从 0 数起 [默认：最后一个]
        query: Option<usize> = "I" [help_heading = "Place"];
        /// Position that answers, from 0 [default: the one before --query]
        /// zh: 回答的位置，从 0 数起 [默认：--query 的前一个]
        key: Option<usize> = "J" [help_heading = "Place"];
        /// Block of the model, from 0 [default: 0]
        /// zh: 模型的块，从 0 数起 [默认：0]
        layer: Option<usize> = "L" [help_heading = "Place"];
        /// Checkpoint, or the folder of a run [default: a built-in example of three positions]
        /// zh: 检查点，或训练目录 [默认：三个位置的内置示例]
        load: Option<PathBuf> = "FILE" [help_heading = "Model"];
        /// What the text begins with.
        ..prompt: PromptArgs [next_help_heading = "Model"];
        /// Number of heads of the built-in example: 1, 2 or 4 [default: 2]
        /// zh: 内置示例的头数：1、2 或 4 [默认：2]
        heads: Option<usize> = "H" [visible_alias = "n-heads", help_heading = "Model"];
        /// Put the same sequence into the batch N times [default: 1]
        /// zh: 把同一个序列在批里放 N 次 [默认：1]
        batch: Option<usize> = "N" [visible_alias = "batch-size", help_heading = "Model"];
        /// Every term of long sums and every line of long tables
        /// zh: 长和式的每一项、长表格的每一行都显示
        all: bool;
        /// One JSON object with everything
        /// zh: 一个 JSON 对象，内容齐全
        json: bool;
        /// Threads.
        ..output: OutputArgs;
    }
}
