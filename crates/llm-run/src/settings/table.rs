//! All rows: which settings there are, where each starts, what each does where a run goes on.

use super::attention::ATTENTION;
use super::given::{Given, whole};
use super::row::{Setting, fixed, row, with_texts};
use crate::models::Models;
use llm_core::message;
use llm_core::optim::{AdamW, Muon, ScheduleKind};
use llm_core::recipe::Recipe;
use llm_core::settings::Value;

/// Settings of core that a run may be asked for, in the order of a help. Keys, types and ranges are
/// in the rows of `llm_core::settings`; how a setting is typed, where that is more than its name,
/// is in `llm_cli::flags::spelled`, in the same order.
pub const SETTINGS: [Setting; 36] = with_texts![
    /// Share of the data kept for validation, the last part [default: 0.1]
    /// zh: 留作验证的数据所占比例，取末尾 [默认：0.1]
    row("train.val_frac", "val_frac").starts(|start| Value::Double(start.of([0.1, 0.1, 0.0]))),
    /// Context length in tokens; with {load}: length of the training windows
    /// zh: 上下文长度，以词元计；加 {load} 时是训练窗口的长度
    row("train.seq_len", "seq").starts(|start| Value::Whole(start.of([256, 64, 64]))),
    /// Width
    /// zh: 宽度
    fixed("model.d_model", "dmodel").starts(|start| Value::Whole(start.of([64, 128, 64]))),
    /// Number of blocks
    /// zh: 块数
    fixed("model.n_layers", "layers").starts(|start| Value::Whole(start.of([2, 4, 1]))),
    /// Norms with gain and bias
    /// zh: 归一化带增益和偏置
    fixed("model.norm_affine", "norm_affine"),
    /// The output head shares the token table [default: as {arch} has it; for a text without {arch}, 0]
    /// zh: 输出头与词元表共用权重 [默认：由 {arch} 决定；学文本而不给 {arch} 时是 0]
    fixed("model.tied_head", "tied_head"),
    /// The output head has a bias
    /// zh: 输出头带偏置
    fixed("model.head_bias", "head_bias"),
    /// What the MLP does between its products
    /// zh: MLP 在两次乘积之间用的激活函数
    fixed("model.activation", "activation"),
    /// Width of the MLP between its products; 0: four times the width
    /// zh: MLP 中间的宽度；0：宽度的四倍
    fixed("model.n_inner", "n_inner"),
    /// How weights start
    /// zh: 权重的初始值
    fixed("model.init", "init")
        .starts(|start| Value::Text(start.of(["zero-out", "zero-head", "fan-in"]).into())),
    /// Steps in all; with {load}: that many more
    /// zh: 总步数；加 {load} 时是再走这么多步
    row("train.total_steps", "steps")
        .starts(|start| Value::Whole(start.of([800, 2000, 200])))
        .means_other_on_load(),
    /// Windows per step
    /// zh: 每步的窗口数
    row("train.batch_size", "batch").starts(|start| Value::Whole(start.of([8, 12, 4]))),
    /// Micro-batches of B windows per step, for batches that do not fit into memory [default: 1]
    /// zh: 每步几个微批，每个 B 个窗口；用于内存放不下的批 [默认：1]
    row("train.accum", "accum"),
    /// What is learned of conversations [default: answers]
    /// zh: 对话里学哪些词元 [默认：answers]
    row("train.loss_on", "loss_on"),
    /// In which order the windows of a text, or the stories, are learned
    /// zh: 按什么次序学文本的窗口或各个故事
    row("train.order", "order")
        .starts(|start| Value::Text(start.of(["random", "passes", "random"]).into())),
    /// With {load}: learn from rewards of answers that the model writes itself. arithmetic, sort, reverse, and who-has
    /// and stories for the built-in stories have their own questions; exact compares with the answers of {data};
    /// anything else is a command, which gets a line of JSON for each answer and prints a number for each
    /// zh: 加 {load}：从奖励里学。arithmetic、sort、reverse、who-has、stories 自带题；exact 比 {data}；其他是命令
    row("train.reward", "reward").applies(rewarded),
    /// Answers to each question of a step, compared with each other [default: 8]
    /// zh: 一步里每个问题写几个回答，相互比较 [默认：8]
    row("train.group", "group").applies(rewarded),
    /// Most tokens of such an answer; 0: twice the longest known one, or 64
    /// zh: 这种回答最多几个词元；0：已知最长答案的两倍，没有答案则是 64
    row("train.answer_length", "answer_length").applies(rewarded),
    /// Divide rewards, less their mean, by their standard deviation (GRPO; without it Dr. GRPO)
    /// zh: 奖励减去均值后再除以标准差（GRPO；不除则是 Dr. GRPO）
    row("train.scaled", "scaled").applies(rewarded),
    /// Updates of each batch of answers [default: 1]
    /// zh: 每批回答更新几次 [默认：1]
    row("train.updates", "updates").applies(rewarded),
    /// With several updates: how far from 1 the ratio of a token's probability to that when it was written may be, and
    /// still teach [default: 0.2]
    /// zh: 更新多次时：词元的概率与写下它时相比，比值离 1 多远仍可学 [默认：0.2]
    row("train.clip_ratio", "clip_ratio").applies(rewarded),
    /// How strongly the model is held to the weights of its start: β of pairs, and of the KL distance with {reward}
    /// [default: 0.1 with {dpo}, else 0]
    /// zh: 把模型拉住、不离开起点权重的强度：成对学习的 β，也是 {reward} 的 KL 距离的 β [默认：用 {dpo} 时 0.1，否则 0]
    row("train.beta", "beta").applies(rewarded),
    /// Probability that a number inside the model is dropped in training [default: 0]
    /// zh: 训练时模型内部的一个数被丢弃的概率 [默认：0]
    row("model.dropout", "dropout"),
    /// Peak learning rate; that of a text follows the steps
    /// zh: 学习率的峰值；学文本时随步数而定
    row("train.lr", "lr").starts(|start| Value::Float(start.of([1.2e-2, LOWEST_RATE, 3e-4]))),
    /// The rate's course after the warm-up [default: linear]
    /// zh: 预热之后学习率的走法 [默认：linear]
    row("train.schedule", "schedule")
        .starts(|start| Value::Text(start.of(["linear", "linear", "constant"]).into())),
    /// Steps until the peak [default: 5 % of the horizon]
    /// zh: 到达峰值的步数 [默认：下降步数的 5 %]
    row("train.warmup_steps", "warmup")
        .follows(|recipe, given| Value::Whole(warmup(recipe, given))),
    /// Learning rate at the end [default: 0]
    /// zh: 结束时的学习率 [默认：0]
    row("train.min_lr", "min_lr")
        .follows(|recipe, _| Value::Float(if falls(recipe) { 0.0 } else { recipe.schedule.lr }))
        .applies(falls),
    /// Horizon of the course [default: the steps planned at the start]
    /// zh: 走完下降的步数 [默认：开始时计划的步数]
    // A constant rate has none: k steps and n − k more are then n steps, bit for bit.
    row("train.decay_steps", "decay_steps")
        .follows(|recipe, _| Value::Whole(if falls(recipe) { recipe.total_steps } else { 0 }))
        .applies(falls),
    /// Largest gradient norm; 0: no clipping [default: 1]
    /// zh: 梯度范数的上限；0：不裁剪 [默认：1]
    row("train.clip", "clip").starts(|start| Value::Float(start.of([1.0, 1.0, 0.0]))),
    /// What matrices are rounded to when they are multiplied in training [default: f32]
    /// zh: 训练时矩阵相乘前舍入成什么 [默认：f32]
    row("train.matmul", "matmul"),
    /// What moves the weights; with {load}: only where the file has no optimizer state [default:
    /// muon; adamw for a text in steps of fewer tokens than four times the width]
    /// zh: 用什么更新权重；加 {load} 时只在文件没有优化器状态时可用 [默认：muon；学文本而一步的词元少于宽度的四倍时用 adamw]
    row("train.optimizer", "optimizer")
        .starts(|start| Value::Text(start.of([Muon::NAME, Muon::NAME, AdamW::NAME]).into()))
        .reported(|| message!("optimizer")),
    /// Weight decay [default: 0.1]
    /// zh: 权重衰减 [默认：0.1]
    row("train.weight_decay", "weight_decay")
        .starts(|start| Value::Float(start.of([0.1, 0.1, 0.01]))),
    /// Decay biases too, not only matrices
    /// zh: 偏置也衰减，不只是矩阵
    row("train.decay_all", "decay_all").starts(|start| Value::Bool(start.of([false, false, true]))),
    /// Decay of AdamW's first moment [default: 0.9]
    /// zh: AdamW 一阶矩的衰减率 [默认：0.9]
    row("train.beta1", "beta1").starts(|start| Value::Float(start.of([0.9, 0.9, 0.9]))),
    /// Decay of AdamW's second moment [default: 0.99]
    /// zh: AdamW 二阶矩的衰减率 [默认：0.99]
    row("train.beta2", "beta2").starts(|start| Value::Float(start.of([0.99, 0.99, 0.999]))),
    /// Seed of weights, batches and samples [default: 1]; with {load}: of samples only
    /// zh: 权重、批和样本的种子 [默认：1]；加 {load} 时只管样本
    row("train.seed", "seed").means_other_on_load(),
];

/// What goes beyond the baseline's model: only for those that name it, see [`Models::options`].
pub const FURTHER: [Setting; 6] = with_texts![
    /// What every norm does [default: layer]
    /// zh: 每处归一化怎么做 [默认：layer]
    fixed("model.norm", "norm"),
    /// What kind of MLP a block has [default: gelu]
    /// zh: 块里的 MLP 是哪一种 [默认：gelu]
    fixed("model.mlp", "mlp"),
    /// The products of the MLP add biases
    /// zh: MLP 的乘积加偏置
    fixed("model.mlp_bias", "mlp_bias"),
    /// How the order of tokens is known [default: learned]
    /// zh: 词元的顺序从哪里得知 [默认：learned]
    fixed("model.positions", "positions"),
    /// Tables of n-grams: rows for the last 2, 3, .. tokens are added to the token's [default: no
    /// table]
    /// zh: n 元组表：把最后 2、3 …… 个词元的行加到词元的行上 [默认：没有]
    fixed("model.ngrams", "ngrams"),
    /// Most rows of such a table; beyond them some n-grams share a row [default: 16384]
    /// zh: 一张这样的表最多几行；n 元组再多，就有几个共用一行 [默认：16384]
    fixed("model.ngram_rows", "ngram_rows"),
];

/// Everything that a model may have beyond the baseline: all but the number of heads.
pub const ALL_OPTIONS: &[&str] = &{
    let mut names = [""; FURTHER.len() + ATTENTION.len() - 1];
    let mut i = 0;
    while i < names.len() {
        names[i] = match i < FURTHER.len() {
            true => FURTHER[i].name,
            false => ATTENTION[i + 1 - FURTHER.len()].setting.name,
        };
        i += 1;
    }
    names
};

/// Every setting of core's.
pub fn settings() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().chain(&FURTHER)
}

/// Every setting, those of the attention last.
pub fn all_settings() -> impl Iterator<Item = &'static Setting> {
    settings().chain(ATTENTION.iter().map(|row| &row.setting))
}

/// Every setting for these models, those of the attention last.
pub fn settings_of(models: &Models) -> impl Iterator<Item = &'static Setting> {
    all_settings()
        .filter(move |setting| !ALL_OPTIONS.contains(&setting.name) || models.offers(setting.name))
}

/// The peak of the rate for a text that is learned in many steps.
const LOWEST_RATE: f32 = 4e-3;
/// The peak for few.
const HIGHEST_RATE: f32 = 1e-2;
/// Peak times steps, between these two: 1e-2 is better up to some 700 steps, 4e-3 from some 1,750 on.
const RATE_BY_STEPS: f32 = 7.0;

/// The peak of the rate for a text that is learned in this number of steps.
pub fn rate_for(steps: u64) -> f32 {
    (RATE_BY_STEPS / steps.max(1) as f32).clamp(LOWEST_RATE, HIGHEST_RATE)
}

/// Whether the rate falls, and so has an end and a horizon.
fn falls(recipe: &Recipe) -> bool {
    recipe.schedule.kind != ScheduleKind::Constant
}

/// Whether the model learns from rewards.
fn rewarded(recipe: &Recipe) -> bool {
    !recipe.reward.is_empty()
}

fn warmup(recipe: &Recipe, given: &Given) -> u64 {
    let horizon = whole(given, "decay_steps").unwrap_or(recipe.total_steps);
    if falls(recipe) { horizon / 20 } else { 0 }
}
