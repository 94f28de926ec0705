//! Flags of `compare`.

use super::{CrewArgs, DataArgs, ModelArgs, OutputArgs, RecipeArgs, TrainArgs};
use crate::flags::Typed;
use crate::words::flags;
use clap::Arg;
use llm_run::device::Device;
use std::path::PathBuf;

/// `--variants`, for a program that offers what they differ in.
pub(super) fn variants_arg() -> Arg {
    let arg = Arg::new("variants").long("variants").value_name("NAME,NAME,...");
    // Next to `--vary`: it is no setting of a run, whose files hold what has a heading.
    arg.help_heading(None).value_delimiter(',').help(
        "Compare kinds of models: mha, gqa:2, mqa, rope, rope:500000, nope, window:64, qk-norm, \
         rms, swiglu, relu2, gpt2, llama, qwen3; several parts of one are joined by +, \
         rope+window:64 zh: 比较几种模型：mha、gqa:2、mqa、rope、rope:500000、nope、window:64、qk-norm、rms、swiglu、\
         relu2、gpt2、llama、qwen3；一种模型的几个部件用 + 相连：rope+window:64",
    )
}

flags! {
    /// `compare`.
    #[command(
        mut_arg("data", |arg| arg.help(
            "Text to learn: files and folders; `-` is standard input [default: built-in stories] \
             zh: 要学的文件和目录；`-` 是标准输入 [默认：内置故事]"
        )),
        mut_arg("end_of_text", |arg| arg.help(
            "Where a text ends: none, files or marked, as in training \
             zh: 文本在哪里结束：none、files 或 marked，与训练相同"
        )),
    )]
    pub struct CompareArgs {
        /// Numbers of attention heads, each of which must divide the width: 1,2,4 [default: those
        /// of 1,2,4,8 that do; with --vary one number, as in training]
        /// zh: 头的个数，都要整除宽度：1,2,4 [默认：1,2,4,8 里能的；加 --vary 时同训练]
        heads: Vec<usize> = "H,H,..." [
            visible_aliases = ["n-heads", "n-head"], value_delimiter = ',',
        ];
        /// Compare trainings that differ in this setting, lr=1e-3,3e-3; repeatable: every
        /// combination
        /// zh: 比较这项设置的值，lr=1e-3,3e-3；可重复：全部组合
        vary: Vec<String> = "FLAG=V,V,...";
        /// Compare sizes, `tiny,mini,small,medium,large` or numbers of layers: width, heads, rate and
        /// steps follow by rules, which are printed, and a law of the loss is fitted
        /// zh: 比较几种尺寸，`tiny,mini,small` 或层数：宽度、头数、学习率和步数按印出的规则定，并拟合定律
        ladder: Vec<String> = "SIZE,..." [value_delimiter = ','];
        /// Tokens that a size of --ladder learns for each parameter of its blocks [default: 10]
        /// zh: --ladder 为块里的每个参数学多少词元 [默认：10]
        token_ratio: Option<f64> = "K" rare [
            alias = "target-param-data-ratio", requires = "ladder",
        ];
        /// Trainings of each, with the seeds --seed, --seed + 1, ... [default: 3]
        /// zh: 每种训练几次，种子为 --seed、--seed + 1…… [默认：3]
        seeds: Option<u64> = "N";
        /// Compare equals: N trainings against N others, with other seeds alone
        /// zh: 拿相同的比相同的：N 次对另外 N 次，只换种子
        aa: Option<u64> = "N" [conflicts_with_all = ["vary", "heads", "seeds", "ladder"]];
        /// Measure the validation loss of each after every N steps; 0: only at the end [default:
        /// 250]
        /// zh: 每次训练每 N 步测一次验证损失；0：只在结束时 [默认：250]
        eval_every: Option<u64> = "N" [visible_alias = "eval-interval"];
        /// Where steps are computed: cpu, gpu, gpu:N or gpu:NAME, as in training [default: cpu]
        /// zh: 每步在哪里算 [gpu、gpu:N、gpu:NAME；默认：cpu]
        device: Option<Device> = "DEVICE";
        /// Say what time and memory all of it takes here, and do nothing
        /// zh: 说明全部要多少时间和内存，但什么都不做
        dry_run: bool;
        /// Where the results go [default: runs/compare-NNN, the next free number]
        /// zh: 结果放在哪里 [默认：下一个 runs/compare-NNN]
        out: Option<PathBuf> = "DIR";
        /// The training data.
        ..files: DataArgs;
        /// Sizes.
        ..model: ModelArgs;
        /// How the models learn.
        ..recipe: RecipeArgs;
        /// Refused, with the reason.
        load: Option<PathBuf> = "FILE" [visible_alias = "resume", hide = true];
        /// Refused, with the reason.
        save: Option<PathBuf> = "FILE" [hide = true];
        /// One JSON object a line
        /// zh: 每行一个 JSON 对象
        json: bool;
        /// What is printed.
        ..output: OutputArgs;
    }
}

impl CompareArgs {
    /// Whether what differs is the number of heads, and nothing else.
    pub fn by_heads(&self) -> bool {
        let more = [&self.vary, &self.ladder, &self.model.further.variants];
        more.iter().all(|of| of.is_empty()) && self.aa.is_none()
    }

    /// The training of a model with this many heads; `None`: the program's own.
    pub fn training(&self, heads: Option<usize>) -> TrainArgs {
        TrainArgs {
            files: self.files.clone(),
            model: self.model.clone(),
            heads: Typed(heads.map(|heads| ("heads", heads.into())).into_iter().collect()),
            recipe: self.recipe.clone(),
            eval_every: self.eval_every,
            crew: CrewArgs { device: self.device.clone(), ..CrewArgs::default() },
            output: self.output.clone(),
            ..TrainArgs::default()
        }
    }
}
