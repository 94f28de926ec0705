//! How settings are typed, where that is more than their name.

use crate::words::described;

/// How a setting is typed, where that is more than its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spelling {
    pub setting: &'static str,
    /// What stands for the value in the help; by default what the kind of value has.
    pub placeholder: Option<&'static str>,
    pub aliases: &'static [&'static str],
    /// Whether `-h` shows the flag too, and not `--help` alone.
    pub often: bool,
    /// The largest whole number.
    pub most: u64,
    /// The words that can be typed, where the help says something about each.
    pub words: &'static [(&'static str, &'static str)],
}

impl Spelling {
    pub const fn of(setting: &'static str) -> Spelling {
        let most = u64::MAX;
        Spelling { setting, placeholder: None, aliases: &[], often: false, most, words: &[] }
    }

    const fn value(self, placeholder: &'static str) -> Spelling {
        Spelling { placeholder: Some(placeholder), ..self }
    }

    const fn or(self, aliases: &'static [&'static str]) -> Spelling {
        Spelling { aliases, ..self }
    }

    const fn often(self) -> Spelling {
        Spelling { often: true, ..self }
    }

    const fn up_to(self, most: u32) -> Spelling {
        Spelling { most: most as u64, ..self }
    }

    const fn words(self, words: &'static [(&'static str, &'static str)]) -> Spelling {
        Spelling { words, ..self }
    }
}

/// Settings that are not typed as their name alone says, in the order of the settings. What one is
/// for, and where it begins, is in its row of `llm_run::settings`; its range in that of
/// `llm_core::settings`. One without a row here is a flag that `--help` shows and `-h` does not.
pub(super) const SPELLED: &[Spelling] = &[
    Spelling::of("val_frac").often(),
    Spelling::of("seq").value("T").or(&["seq-len", "ctx", "block-size"]).often(),
    Spelling::of("dmodel").value("C").or(&["d-model", "n-embd"]).often(),
    Spelling::of("layers").value("L").or(&["n-layers", "n-layer"]).often(),
    Spelling::of("activation").words(described![
            /// GELU in its tanh form, GPT-2's
            /// zh: tanh 形式的 GELU，GPT-2 用的
            "gelu_tanh",
            /// GELU as it is defined
            /// zh: 按定义计算的 GELU
            "gelu",
    ]),
    Spelling::of("init").words(described![
            /// Standard deviation 1/√fan_in
            /// zh: 标准差 1/√fan_in
            "fan-in",
            /// GPT-2's
            /// zh: GPT-2 的
            "gpt2",
            /// Like fan-in; what blocks add to the stream starts at 0
            /// zh: 同 fan-in；各块加到残差流上的从 0 开始
            "zero-out",
            /// Like zero-out; an output head of its own starts at 0 too
            /// zh: 同 zero-out；单独的输出头也从 0 开始
            "zero-head",
    ]),
    Spelling::of("steps").or(&["max-steps", "max-iters"]).often(),
    Spelling::of("batch").value("B").or(&["batch-size"]).often(),
    Spelling::of("accum").or(&["grad-accum", "gradient-accumulation-steps"]).up_to(u32::MAX),
    Spelling::of("loss_on").value("WHAT").often().words(described![
            /// The answers, each with what ends it
            /// zh: 回答，连同它的结束标记
            "answers",
            /// All tokens
            /// zh: 全部词元
            "all",
    ]),
    Spelling::of("order").words(described![
            /// Each is drawn from all
            /// zh: 每个都从全部里抽
            "random",
            /// Shuffled passes: none comes again before all others have
            /// zh: 打乱后一遍一遍地学：全部学过才会再次出现
            "passes",
    ]),
    Spelling::of("reward").value("JUDGE").often(),
    Spelling::of("group").value("G").up_to(u32::MAX),
    Spelling::of("answer_length").up_to(u32::MAX),
    Spelling::of("updates").or(&["num-iterations"]).up_to(u32::MAX),
    Spelling::of("clip_ratio").value("E").or(&["epsilon"]),
    Spelling::of("beta").value("B").or(&["kl"]),
    Spelling::of("dropout").value("P").often(),
    Spelling::of("lr").or(&["learning-rate"]).often(),
    Spelling::of("schedule").often().words(described![
            /// Always the peak
            /// zh: 始终是峰值
            "constant",
            /// Half a cosine down
            /// zh: 沿半个余弦下降
            "cosine",
            /// A line down
            /// zh: 沿直线下降
            "linear",
            /// Warm-up, stable, decay in the last fifth after the warm-up
            /// zh: 预热、平稳，预热后剩下步数的最后五分之一下降
            "wsd",
    ]),
    Spelling::of("warmup").or(&["warmup-steps", "warmup-iters"]).often(),
    Spelling::of("decay_steps").or(&["lr-decay-iters"]),
    Spelling::of("clip").or(&["grad-clip"]).often(),
    Spelling::of("matmul").often().words(described![
            /// Not rounded
            /// zh: 不舍入
            "f32",
            /// 8 bits of precision inside the products, f32 everywhere else
            /// zh: 乘积里用 8 位精度，其他地方都是 f32
            "bf16",
            /// 11 bits of precision inside the products, for a GPU with matrix units
            /// zh: 乘积里用 11 位精度，给有矩阵单元的 GPU 用
            "f16",
    ]),
    Spelling::of("optimizer").value("NAME"),
    Spelling::of("weight_decay").often(),
    Spelling::of("seed").often(),
    Spelling::of("positions").words(described![
            /// A table of positions
            /// zh: 位置表
            "learned",
            /// Nothing says them
            /// zh: 不告诉它
            "none",
            /// The attention turns queries and keys by them
            /// zh: 注意力按位置旋转查询和键
            "rotary",
    ]),
    Spelling::of("ngram_rows").value("R"),
    Spelling::of("heads").value("H").or(&["n-heads", "n-head"]).often(),
    Spelling::of("kv_heads").value("G").or(&["n-kv-heads"]),
    Spelling::of("head_dim").value("D"),
    Spelling::of("window").or(&["sliding-window"]),
    Spelling::of("soft_cap").value("C"),
];
