//! All rows, in the order of the help.

use super::row::Kind::{F32, F64, List, Switch, U32, U64, Word};
use super::row::{Flag, row};
use llm_core::model::{Mlp, Norm};
use llm_core::optim::OPTIMIZERS;
use llm_run::models::Models;
use llm_run::settings::ALL_OPTIONS;

/// Flags that stand together in the help.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Above them in the help.
    pub heading: &'static str,
    /// The rows.
    pub flags: &'static [Flag],
}

/// The groups, each by its number.
#[rustfmt::skip]
pub const GROUPS: [Group; 7] = [
    Group { heading: "Data", flags: &[
        row("val-frac", "X", F64, "Share of the data kept for validation, the last part [default: 0.1] zh: 留作验证的数据所占比例，取末尾 [默认：0.1]"),
    ] },
    Group { heading: "Model", flags: &[
        row("seq", "T", U64, "Context length in tokens; with --load: length of the training windows zh: 上下文长度，以词元计；加 --load 时是训练窗口的长度").or(&["seq-len", "ctx", "block-size"]),
        row("dmodel", "C", U64, "Width zh: 宽度").or(&["d-model", "n-embd"]),
        row("layers", "L", U64, "Number of blocks zh: 块数").or(&["n-layers", "n-layer"]),
    ] },
    Group { heading: "Model", flags: &[
        row("norm-affine", "0|1", Switch, "Norms with gain and bias zh: 归一化带增益和偏置").rare(),
        row("tied-head", "0|1", Switch, "The output head shares the token table zh: 输出头与词元表共用权重").rare(),
        row("head-bias", "0|1", Switch, "The output head has a bias zh: 输出头带偏置").rare(),
        row("activation", "KIND", Word(|| vec![("gelu_tanh", "GELU in its tanh form, GPT-2's zh: tanh 形式的 GELU，GPT-2 用的"), ("gelu", "GELU as it is defined zh: 按定义计算的 GELU")]), "What the MLP does between its products zh: MLP 在两次乘积之间用的激活函数").rare(),
        row("n-inner", "N", U64, "Width of the MLP between its products; 0: four times the width zh: MLP 中间的宽度；0：宽度的四倍").rare(),
        row("init", "KIND", Word(|| vec![("fan-in", "Standard deviation 1/√fan_in zh: 标准差 1/√fan_in"), ("gpt2", "GPT-2's zh: GPT-2 的"), ("zero-out", "Like fan-in; what blocks add to the stream starts at 0 zh: 同 fan-in；各块加到残差流上的从 0 开始")]), "How weights start zh: 权重的初始值").rare(),
    ] },
    Group { heading: "Training", flags: &[
        row("steps", "N", U64, "Steps in all; with --load: that many more zh: 总步数；加 --load 时是再走这么多步").or(&["max-steps", "max-iters"]),
    ] },
    Group { heading: "Training", flags: &[
        row("batch", "B", U64, "Windows per step zh: 每步的窗口数").or(&["batch-size"]),
        row("accum", "N", U32, "Micro-batches of B windows per step, for batches that do not fit into memory [default: 1] zh: 每步几个微批，每个 B 个窗口；用于内存放不下的批 [默认：1]").or(&["grad-accum", "gradient-accumulation-steps"]).rare(),
        row("loss-on", "WHAT", Word(|| vec![("answers", "The answers, each with what ends it zh: 回答，连同它的结束标记"), ("all", "All tokens zh: 全部词元")]), "What is learned of conversations [default: answers] zh: 对话里学哪些词元 [默认：answers]"),
        row("dropout", "P", F32, "Probability that a number inside the model is dropped in training [default: 0] zh: 训练时模型内部的一个数被丢弃的概率 [默认：0]"),
        row("lr", "X", F32, "Peak learning rate zh: 学习率的峰值").or(&["learning-rate"]),
        row("schedule", "KIND", Word(|| vec![("constant", "Always the peak zh: 始终是峰值"), ("cosine", "Half a cosine down zh: 沿半个余弦下降"), ("linear", "A line down zh: 沿直线下降"), ("wsd", "Warm-up, stable, decay in the last fifth after the warm-up zh: 预热、平稳，预热后剩下步数的最后五分之一下降")]), "The rate's course after the warm-up [default: linear] zh: 预热之后学习率的走法 [默认：linear]"),
        row("warmup", "N", U64, "Steps until the peak [default: 5 % of the horizon] zh: 到达峰值的步数 [默认：下降步数的 5 %]").or(&["warmup-steps", "warmup-iters"]),
        row("min-lr", "X", F32, "Learning rate at the end [default: 0] zh: 结束时的学习率 [默认：0]").rare(),
        row("decay-steps", "N", U64, "Horizon of the course [default: the steps planned at the start] zh: 走完下降的步数 [默认：开始时计划的步数]").or(&["lr-decay-iters"]).rare(),
        row("clip", "X", F32, "Largest gradient norm; 0: no clipping [default: 1] zh: 梯度范数的上限；0：不裁剪 [默认：1]").or(&["grad-clip"]),
        row("matmul", "KIND", Word(|| vec![("f32", "Not rounded zh: 不舍入"), ("bf16", "8 bits of precision inside the products, f32 everywhere else zh: 乘积里用 8 位精度，其他地方都是 f32"), ("f16", "11 bits of precision inside the products, for a GPU with matrix units zh: 乘积里用 11 位精度，给有矩阵单元的 GPU 用")]), "What matrices are rounded to when they are multiplied in training [default: f32] zh: 训练时矩阵相乘前舍入成什么 [默认：f32]"),
        row("optimizer", "NAME", Word(|| OPTIMIZERS.iter().map(|of| (of.name, of.doc)).collect()), "What moves the weights; with --load: only where the file has no optimizer state [default: muon; adamw for a text in steps of fewer tokens than four times the width] zh: 用什么更新权重；加 --load 时只在文件没有优化器状态时可用 [默认：muon；学文本而一步的词元少于宽度的四倍时用 adamw]").rare(),
        row("weight-decay", "X", F32, "Weight decay [default: 0.1] zh: 权重衰减 [默认：0.1]"),
        row("decay-all", "0|1", Switch, "Decay biases too, not only matrices zh: 偏置也衰减，不只是矩阵").rare(),
        row("beta1", "X", F32, "Decay of AdamW's first moment [default: 0.9] zh: AdamW 一阶矩的衰减率 [默认：0.9]").rare(),
        row("beta2", "X", F32, "Decay of AdamW's second moment [default: 0.99] zh: AdamW 二阶矩的衰减率 [默认：0.99]").rare(),
    ] },
    Group { heading: "Training", flags: &[
        row("seed", "N", U64, "Seed of weights, batches and samples [default: 1]; with --load: of samples only zh: 权重、批和样本的随机种子 [默认：1]；加 --load 时只管样本"),
    ] },
    Group { heading: "Model", flags: &[
        row("norm", "KIND", Word(|| Norm::ALL.iter().map(|of| (of.name(), of.row().doc)).collect()), "What every norm does [default: layer] zh: 每处归一化怎么做 [默认：layer]").rare(),
        row("mlp", "KIND", Word(|| Mlp::ALL.iter().map(|of| (of.name(), of.row().doc)).collect()), "What kind of MLP a block has [default: gelu] zh: 块里的 MLP 是哪一种 [默认：gelu]").rare(),
        row("mlp-bias", "0|1", Switch, "The products of the MLP add biases zh: MLP 的乘积加偏置").rare(),
        row("positions", "KIND", Word(|| vec![("learned", "A table of positions zh: 位置表"), ("none", "Nothing says them zh: 不告诉它"), ("rotary", "The attention turns queries and keys by them zh: 注意力按位置旋转查询和键")]), "How the order of tokens is known [default: learned] zh: 词元的顺序从哪里得知 [默认：learned]").rare(),
        row("ngrams", "N,..", List, "Tables of n-grams: rows for the last 2, 3, .. tokens are added to the token's [default: no table] zh: n 元组表：把最后 2、3 …… 个词元的行加到词元的行上 [默认：没有]").rare(),
        row("ngram-rows", "R", U64, "Most rows of such a table; beyond them some n-grams share a row [default: 16384] zh: 一张这样的表最多几行；n 元组再多，就有几个共用一行 [默认：16384]").rare(),
        row("kv-heads", "G", U64, "Heads of keys and values; must divide --heads, 1 is multi-query [default: as many as of queries] zh: 键和值的头数，必须整除 --heads；1 就是多查询 [默认：与查询的头数相同]").or(&["n-kv-heads"]).rare(),
        row("head-dim", "D", U64, "Channels of a head [default: the width divided by --heads] zh: 一个头的通道数 [默认：宽度除以 --heads]").rare(),
        row("rope-theta", "X", F64, "Base of the angles of rotary positions [default: 10000] zh: 旋转位置的角度底数 [默认：10000]").rare(),
        row("rotary-dim", "N", U64, "Channels of a head that rotary positions turn, an even number [default: all] zh: 一个头里由旋转位置转动的通道数，必须是偶数 [默认：全部]").rare(),
        row("window", "N", U64, "A position sees the last N, itself among them [default: all] zh: 一个位置看得见最后 N 个，包括自己 [默认：全部]").or(&["sliding-window"]).rare(),
        row("soft-cap", "C", F64, "No score of the attention is beyond C: s becomes C*tanh(s/C) [default: no cap] zh: 注意力的分数不超过 C：s 变成 C*tanh(s/C) [默认：没有上限]").rare(),
        row("qk-norm", "0|1", Switch, "Queries and keys are normed, each head by itself zh: 查询和键先归一化，每个头各做各的").rare(),
        row("attention-bias", "0|1", Switch, "The projections of the attention add biases zh: 注意力的投影加偏置").rare(),
    ] },
];

/// The share of the data that is not trained on.
pub const VAL_FRAC: usize = 0;
/// Sizes of a model.
pub const SIZES: usize = 1;
/// Options of a model.
pub const OPTIONS: usize = 2;
/// How long it learns.
pub const LENGTH: usize = 3;
/// How it learns.
pub const LEARNING: usize = 4;
/// What is drawn.
pub const SEED: usize = 5;
/// What goes beyond the baseline's model, its attention last. A program has those that its description
/// names, and no other.
pub const FURTHER: usize = 6;

/// Every row.
pub fn flags() -> impl Iterator<Item = &'static Flag> {
    GROUPS.iter().flat_map(|group| group.flags)
}

/// Every row for these models.
pub fn flags_of(models: &Models) -> impl Iterator<Item = &'static Flag> {
    flags().filter(move |flag| {
        let name = flag.setting_name();
        !ALL_OPTIONS.contains(&&*name) || models.offers(&name)
    })
}
