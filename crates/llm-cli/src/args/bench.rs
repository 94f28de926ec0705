//! The verb `bench`.

use super::OutputArgs;
use super::choices::{KINDS, Kept, ROUNDED};
use crate::flags::Further;
use crate::words::{flags, one_of, words};
use llm_core::kernels::gemm::Precision;
use llm_run::device::Device;

flags! {
    /// `bench`.
    pub struct BenchArgs {
        /// What to measure; repeatable [default: everything this program can]
        /// zh: 测量什么；可以写几次 [默认：本程序能测的全部]
        workload: Vec<BenchName> = "NAME";
        /// Measured steps [default: enough for a stable median]
        /// zh: 测量的步数 [默认：足以得到稳定的中位数]
        steps: Option<usize> = "N";
        /// Another width than the workload's
        /// zh: 换一个宽度
        dmodel: Option<usize> = "C" [visible_alias = "d-model", help_heading = "Sizes"];
        /// Another number of blocks
        /// zh: 换一个块数
        layers: Option<usize> = "L" [visible_alias = "n-layers", help_heading = "Sizes"];
        /// Another number of heads
        /// zh: 换一个头数
        heads: Option<usize> = "H" [visible_alias = "n-heads", help_heading = "Sizes"];
        /// Other windows
        /// zh: 换一种窗口长度
        seq: Option<usize> = "T" [visible_alias = "seq-len", help_heading = "Sizes"];
        /// Other batches
        /// zh: 换一种批大小
        batch: Option<usize> = "B" [visible_alias = "batch-size", help_heading = "Sizes"];
        /// Another vocabulary
        /// zh: 换一个词表大小
        vocab: Option<usize> = "V" [visible_alias = "vocab-size", help_heading = "Sizes"];
        /// Write on after a text of this many tokens [default: 1]
        /// zh: 在这么多词元的文本之后接着写 [默认：1]
        after: Option<usize> = "N" [help_heading = "Sizes"];
        /// What matrices are rounded to when they are multiplied
        /// zh: 矩阵相乘前舍入成什么
        matmul: Option<Precision> = "KIND" [value_parser = one_of(ROUNDED), hide_possible_values = true];
        /// Write text with weights kept as f32, bf16, q8 or q4
        /// zh: 写文本时权重存成 f32、bf16、q8 或 q4
        weights: Option<Kept> = "KIND" [value_parser = one_of(KINDS), hide_possible_values = true];
        /// Where steps are computed: cpu, gpu, gpu:N or gpu:NAME, as in training; on a GPU with
        /// AdamW as well
        /// zh: 每步在哪里算；在 GPU 上也用 AdamW [gpu、gpu:N、gpu:NAME；默认：cpu]
        device: Option<Device> = "cpu|gpu|gpu:N|gpu:NAME|list";
        /// What the models are, where the program offers a choice.
        ..model: Further;
        /// One JSON object a line, for comparing with others
        /// zh: 每行一个 JSON 对象，便于与别的程序比较
        json: bool;
        /// Threads.
        ..output: OutputArgs;
    }
}

impl BenchArgs {
    /// Whether there is one JSON object a line.
    pub fn json(&self) -> bool {
        self.json || self.output.json()
    }

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

words! {
    /// Workloads by name.
    pub enum BenchName {
        /// nanoGPT's CPU configuration, 4 heads
        /// zh: nanoGPT 的 CPU 配置，4 个头
        W1 = "w1",
        /// W1 with one head and bytes
        /// zh: 同上，但一个头，用字节
        W1h1 = "w1h1",
        /// The C++ original's README, one head
        /// zh: C++ 原版 README 里的，一个头
        W2 = "w2",
        /// nanoGPT's baby GPT
        /// zh: nanoGPT 的 baby GPT
        W3 = "w3",
        /// GPT-2 124M
        /// zh: 124M 的 GPT-2
        W4 = "w4",
        /// Matrix products alone: a layer's forward (NN), input gradient (NT), weight gradient (TN)
        /// zh: 只测矩阵乘法：一层的前向（NN）、输入梯度（NT）、权重梯度（TN）
        Products = "products",
        /// Causal attention alone, two shapes
        /// zh: 只测因果注意力，两种形状
        Attention = "attention",
        /// Writing text with the models of w1 and w4, one token after the other; with one like w4's
        /// where a size is given
        /// zh: 用 w1 和 w4 的模型写文本，逐个词元；给出尺寸时，用一个类似 w4 的模型
        Generate = "generate",
    }
}
