//! Flags of `chat`.

use super::OutputArgs;
use super::choices::{KINDS, Kept};
use crate::words::{flags, one_of};
use std::path::PathBuf;

flags! {
    /// `chat`.
    pub struct ChatArgs {
        /// Checkpoint, or the folder of a run
        /// zh: 检查点，或训练目录
        load: PathBuf = "FILE";
        /// What the model is told before the conversation
        /// zh: 对话之前告诉模型的话
        system: Option<String> = "TEXT" [allow_hyphen_values = true];
        /// Most tokens of an answer [default: 512]
        /// zh: 一个回答最多多少词元 [默认：512]
        n: Option<usize> = "N" [
            short = 'n', long = "gen", visible_aliases = ["max-tokens", "max-new-tokens"],
        ];
        /// Temperature; 0: always the most likely token [default: 0.7]
        /// zh: 温度；0：总取最可能的词元 [默认：0.7]
        temp: Option<f32> = "X" [visible_alias = "temperature"];
        /// Choose among the K most likely tokens; 0: all [default: 0]
        /// zh: 在最可能的 K 个词元里选；0：全部 [默认：0]
        topk: Option<usize> = "K" [visible_alias = "top-k"];
        /// Choose among the most likely tokens that together have this probability [default: 0.95]
        /// zh: 在概率合计为此的最可能词元里选 [默认：0.95]
        top_p: Option<f32> = "P";
        /// Seed of the draws [default: the run's]
        /// zh: 抽取词元的随机种子 [默认：训练时的]
        seed: Option<u64> = "N";
        /// Keep the weights as f32, bf16, q8 or q4
        /// zh: 权重存成 f32、bf16、q8 或 q4
        weights: Option<Kept> = "KIND" [value_parser = one_of(KINDS), hide_possible_values = true];
        /// What is printed.
        ..output: OutputArgs;
    }
}
