//! The command line: what can be typed. What it means is decided in [`llm_run::plan`].

mod bench;
mod choices;
mod clap_error;
mod command;
mod compare;
mod crew;
mod import_export;
mod inspect;
mod misplaced;
mod nano_gpt;
mod output;
mod runs;
mod sampling;
mod tokenizer;
mod training;

pub use bench::{BenchArgs, BenchName};
pub use choices::Kept;
pub(crate) use clap_error::in_one_line;
pub(crate) use command::TRAIN;
pub use command::command;
pub use compare::CompareArgs;
pub use crew::CrewArgs;
pub use import_export::{ExportArgs, ExportFormat, ImportArgs, ImportFormat};
pub use inspect::{
    InspectAttentionArgs, InspectLensArgs, InspectModelArgs, InspectPatchArgs, InspectPruneArgs,
    InspectVerb, MeasuredArgs, TraceArgs,
};
pub(crate) use misplaced::in_its_place;
pub use nano_gpt::{NanoGptFlags, SAMPLE_PY, TRAIN_PY};
pub use output::OutputArgs;
pub use runs::{ReportArgs, RunsArgs, RunsOrder};
pub(crate) use sampling::number_words;
pub use sampling::{ProbeArgs, PromptArgs, SamplingArgs};
pub use tokenizer::{
    DecodeArgs, EncodeArgs, InfoArgs, SourceArgs, TokenizerArgs, TokenizerTrainArgs, TokenizerVerb,
};
pub use training::{DataArgs, ModelArgs, RecipeArgs, TrainArgs};

use crate::lang::Lang;
use crate::words::{flags, one_of};
use choices::{FORMS, KINDS};
use clap::{Parser, Subcommand};
use llm_core::recipe::DataForm;
use std::path::PathBuf;

/// Everything that can be typed.
#[derive(Debug, Parser)]
#[command(
    version,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    subcommand_precedence_over_arg = false
)]
pub struct Cli {
    /// Without a verb: train.
    #[command(subcommand)]
    pub verb: Option<Verb>,
    /// What training takes.
    #[command(flatten)]
    pub train: TrainArgs,
    // Lang::taken_from has read it before: what comes as far as here is no language.
    /// Language of results, help and errors; the variable LLM_LANG sets it too [default: en]
    /// zh: 结果、帮助和错误信息的语言；也可以用环境变量 LLM_LANG 设定 [默认：en]
    #[arg(long, global = true, value_name = "LANG", help_heading = "Output")]
    pub lang: Option<Lang>,
}

/// What can be done besides training.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Write text with a trained model
    /// zh: 用训练好的模型写文本
    Generate(GenerateArgs),
    /// Talk with a trained model, as its chat template has it
    /// zh: 按模型自己的对话模板与它对话
    Chat(ChatArgs),
    /// Answer programs, pages and benchmarks over HTTP, as OpenAI's API does
    /// zh: 通过 HTTP 回答程序、网页和评测，接口与 OpenAI 的相同
    Serve(ServeArgs),
    /// Loss, perplexity, bits per byte and accuracy over a whole file, or right answers to questions
    /// zh: 整个文件上的损失、困惑度、每字节比特数和命中率，或答对的题目
    Eval(EvalArgs),
    /// Learn a tokenizer, use one, look at one
    /// zh: 训练、使用、查看分词器
    #[command(subcommand)]
    Tokenizer(TokenizerVerb),
    /// Look inside a model: its sizes, who looks at whom, what each head does, which can go
    /// zh: 看模型内部：尺寸、谁看谁、每个头做什么、哪些头可以去掉
    #[command(subcommand)]
    Inspect(InspectVerb),
    /// Follow one number of attention by hand: where it lies, what it is made of
    /// zh: 手工追踪注意力的一个数：它存在哪里，由什么算出
    Trace(TraceArgs),
    /// List runs: what they learn, how far they are, what came of them
    /// zh: 列出各次训练：学什么、走到哪里、结果如何
    Runs(RunsArgs),
    /// Write a page about a run, also one that was killed, or about several beside each other
    /// zh: 为一次训练写网页，被强行终止的也行；也可以把几次并排
    Report(ReportArgs),
    /// Train models that differ in their number of heads, or in any setting, and say what differs
    /// zh: 训练头数不同或任何设置不同的模型，并说明差异
    Compare(Box<CompareArgs>),
    /// Measure the speed of training steps and of attention on this machine
    /// zh: 测量训练步和注意力在这台机器上的速度
    Bench(BenchArgs),
    /// Write a model for other programs: a Hugging Face folder, or one file (safetensors, GGUF)
    /// zh: 把模型写成其他程序能读的形式：Hugging Face 目录，或一个文件（safetensors、GGUF）
    Export(ExportArgs),
    /// Make a checkpoint of a model from another program, or conversations of the exports of apps
    /// zh: 把其他程序的模型做成检查点，或把应用导出的聊天做成对话
    Import(ImportArgs),
    /// Print a completion script for your shell
    /// zh: 打印用于 shell 补全的脚本
    Completions {
        /// bash, zsh, fish, elvish or powershell
        /// zh: bash、zsh、fish、elvish 或 powershell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages, one for each verb, into a folder
    /// zh: 把手册页写进一个目录，每个命令一页
    #[command(hide = true)]
    Man { folder: PathBuf },
}

flags! {
    /// The other part of a model that is in two.
    #[derive(Clone, Default)]
    pub struct ApartArgs {
        /// Checkpoint with the weights under the adapter, where they have moved
        /// zh: 装着适配器所依附的权重的检查点，用于它们挪了地方时
        base: Option<PathBuf> = "FILE" rare [requires = "load", conflicts_with = "adapter"];
        /// Adapter for the model: a checkpoint, the folder of a run, or one of peft's
        /// zh: 给模型用的适配器：检查点、训练目录，或 peft 的目录
        adapter: Option<PathBuf> = "FILE" rare [requires = "load"];
    }
}

flags! {
    /// `generate`.
    pub struct GenerateArgs {
        /// Checkpoint, or the folder of a run
        /// zh: 检查点，或训练目录
        load: PathBuf = "FILE" [alias = "out-dir"];
        /// The other part of the model.
        ..apart: ApartArgs;
        /// How text is drawn.
        ..sampling: SamplingArgs;
        /// Seed of the draws [default: the run's]
        /// zh: 抽取词元的随机种子 [默认：训练时的]
        seed: Option<u64> = "N";
        /// Keep the weights as f32, bf16, q8 or q4, with 32, 16, 8 or 4 bits each: fewer are faster
        /// where the model is larger than the processor's caches
        /// zh: 权重存成 f32、bf16、q8 或 q4，每个 32、16、8 或 4 位：模型比处理器的缓存大时，位数越少越快
        weights: Option<Kept> = "KIND" [value_parser = one_of(KINDS), hide_possible_values = true];
        /// One JSON object for each text, with token numbers and log-probabilities
        /// zh: 每段文本一个 JSON 对象，带词元编号和对数概率
        json: bool;
        /// What is printed.
        ..output: OutputArgs;
        /// What nanoGPT's `sample.py` takes besides.
        ..nano_gpt: NanoGptFlags<SAMPLE_PY>;
    }
}

flags! {
    /// `chat`.
    pub struct ChatArgs {
        /// Checkpoint, or the folder of a run
        /// zh: 检查点，或训练目录
        load: PathBuf = "FILE";
        /// The other part of the model.
        ..apart: ApartArgs;
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

flags! {
    /// `serve`.
    pub struct ServeArgs {
        /// Checkpoint, or the folder of a run
        /// zh: 检查点，或训练目录
        load: PathBuf = "FILE";
        /// The other part of the model.
        ..apart: ApartArgs;
        /// Port; 0: any that is free [default: 8080]
        /// zh: 端口；0：任意一个空闲的 [默认：8080]
        port: Option<u16> = "N";
        /// Address to listen on; one that other machines reach needs a key [default: 127.0.0.1]
        /// zh: 监听的地址；别的机器能连到的地址必须有密钥 [默认：127.0.0.1]
        host: Option<String> = "ADDRESS";
        /// Answer only who sends this key, as `Authorization: Bearer KEY`
        /// zh: 只回答发来这个密钥的请求：`Authorization: Bearer KEY`
        api_key: Option<String> = "KEY";
        /// File that holds that key
        /// zh: 写着这个密钥的文件
        api_key_file: Option<PathBuf> = "FILE" [conflicts_with = "api_key"];
        /// Let a page from elsewhere ask, `https://example.org`; repeatable
        /// zh: 允许来自别处的网页提问，如 `https://example.org`；可以写几次
        allow_origin: Vec<String> = "ORIGIN";
        /// Keep the weights as f32, bf16, q8 or q4
        /// zh: 权重存成 f32、bf16、q8 或 q4
        weights: Option<Kept> = "KIND" [value_parser = one_of(KINDS), hide_possible_values = true];
        /// What is printed.
        ..output: OutputArgs;
    }
}

flags! {
    /// `eval`.
    pub struct EvalArgs {
        /// Checkpoint, or the folder of a run
        /// zh: 检查点，或训练目录
        load: PathBuf = "FILE";
        /// The other part of the model.
        ..apart: ApartArgs;
        /// Text to score, all of it: files and folders; `-` is standard input [default: the run's
        /// own unseen text]
        /// zh: 要评的文本，全部都评：文件和目录；`-` 是标准输入 [默认：这次训练留着没学的文本]
        data: Vec<PathBuf> = "FILE" [num_args = 1..];
        /// What --data holds, where it is not seen or is no text [default: as in training]
        /// zh: --data 里是什么，用于看不出来或不是文本时 [默认：与训练相同]
        data_as: Option<DataForm> = "KIND" [visible_alias = "tokens", value_parser = one_of(FORMS)];
        /// Ask the questions of this file in place of scoring a text, an object of JSON a line, with the
        /// keys of HellaSwag, ARC, BLiMP or GSM8K, or: prompt, choices, answer; prompt, answer
        /// zh: 不给文本打分，而是问这个文件里的题目：每行一个 JSON 对象，键与 HellaSwag、ARC、BLiMP 或 GSM8K 相同，或者是 prompt、choices、answer，或 prompt、answer
        task: Option<PathBuf> = "FILE" [conflicts_with_all = ["data", "data_as", "per_token", "npz"]];
        /// Ask the questions of --task as a user in the model's chat template
        /// zh: 按模型的对话模板，以用户的口吻问 --task 的题目
        apply_chat_template: bool [requires = "task"];
        /// Write an object for every question of --task into this file: line, answer, ln p of each
        /// choice, whether it is right
        /// zh: 为 --task 的每道题在这个文件里写一个对象：行号、答案、每个选项的 ln p、是否答对
        per_question: Option<PathBuf> = "FILE" [requires = "task"];
        /// Windows or choices scored together [default: the run's batch]
        /// zh: 一起计算的窗口数或选项数 [默认：训练时的批大小]
        batch: Option<usize> = "N" [visible_alias = "batch-size"];
        /// Score the model with weights rounded to bf16, q8 or q4, beside f32
        /// zh: 把权重舍入成 bf16、q8 或 q4 之后打分，与 f32 并列
        weights: Option<Kept> = "KIND" [value_parser = one_of(KINDS), hide_possible_values = true];
        /// Write a row for every scored token into this file as CSV, with --json an object a line:
        /// position, window (where it begins), token, text, loss, prob, rank, first choice; alone
        /// or `-`: to standard output, the table to standard error
        /// zh: 为每个评过的词元在这个文件里写一行 CSV，加 --json 时每行一个对象：位置、窗口（从哪里开始）、词元、文本、损失、概率、名次、首选；不写文件名或写 `-`
        /// 时写到标准输出，表格写到标准错误
        per_token: Option<PathBuf> = "FILE" [num_args = 0..=1, default_missing_value = "-"];
        /// Write arrays for NumPy, of N scored tokens: tokens, inputs, positions, windows and
        /// losses (N), logits (N × V)
        /// zh: 为 N 个评过的词元写 NumPy 数组：tokens、inputs、positions、windows、losses（N），logits（N × V）
        npz: Option<PathBuf> = "FILE";
        /// One JSON object; with --per-token one for each token
        /// zh: 一个 JSON 对象；加 --per-token 时每个词元一个
        json: bool;
        /// What is printed.
        ..output: OutputArgs;
    }
}
