//! Flags of generated text, of what it begins with, and of the probes that look at next-token predictions.

use crate::error::RunError;
use crate::words::flags;
use llm_core::{TokenId, message};
use std::ffi::OsString;
use std::num::ParseIntError;
use std::path::PathBuf;

flags! {
    /// A prompt, in one of three ways.
    #[derive(Clone, Default)]
    pub struct PromptArgs {
        /// Text to continue; <|endoftext|> in it is the token, if the model has it [default: a new
        /// text: that token, a line break, or the first words of a story]
        /// zh: 要接着写的文本；模型有 <|endoftext|> 这个词元时，文中的它就是那个词元 [默认：新的文本：那个词元、一个换行，或故事的头几个词]
        text: Option<OsString> = "TEXT" [
            id = "prompt", short = 'p', long = "prompt", allow_hyphen_values = true,
        ];
        /// Text to continue from a file, byte by byte; `-` is standard input
        /// zh: 同上，但逐字节读自文件；`-` 是标准输入
        file: Option<PathBuf> = "FILE" rare [
            id = "prompt_file", long = "prompt-file", conflicts_with = "prompt",
        ];
        /// nanoGPT's name for it, where FILE:PATH is a file.
        start: Option<OsString> = "TEXT" [
            hide = true, allow_hyphen_values = true,
            conflicts_with_all = ["prompt", "prompt_file", "prompt_ids"],
        ];
        /// Text to continue as token numbers: 1,2,3
        /// zh: 同上，写成词元编号：1,2,3
        ids: Vec<Vec<TokenId>> = "IDS" rare [
            id = "prompt_ids", long = "prompt-ids", value_parser = token_numbers,
            value_delimiter = ',', conflicts_with_all = ["prompt", "prompt_file"],
        ];
    }
}

/// The numbers in a text as people and programs write them: with spaces, commas or brackets around
/// them.
pub(crate) fn number_words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']'));
    words.filter(|word| !word.is_empty())
}

/// The numbers in a text, at least one.
fn token_numbers(text: &str) -> Result<Vec<TokenId>, ParseIntError> {
    let first = number_words(text).next().unwrap_or_default();
    number_words(text).chain(first.is_empty().then_some("")).map(str::parse).collect()
}

impl PromptArgs {
    /// The flag that was given, if any.
    pub fn flag(&self) -> Option<&'static str> {
        match (&self.text, &self.file, &self.start, &*self.ids) {
            (_, _, _, [_, ..]) => Some("--prompt-ids"),
            (Some(_), _, _, _) => Some("--prompt"),
            (None, Some(_), _, _) => Some("--prompt-file"),
            (None, None, Some(_), _) => Some("--start"),
            (None, None, None, []) => None,
        }
    }
}

flags! {
    /// How text is drawn and shown.
    #[derive(Clone, Default)]
    pub struct SamplingArgs in "Text" {
        /// What the text begins with.
        ..prompt: PromptArgs;
        /// Number of tokens to write [default: 256]
        /// zh: 写多少个词元 [默认：256]
        n: Option<usize> = "N" [
            short = 'n', long = "gen", visible_aliases = ["max-tokens", "max-new-tokens"],
        ];
        /// Number of texts to write [default: 1]
        /// zh: 写几段文本 [默认：1]
        num_samples: Option<u64> = "N" rare;
        /// Stop where this text comes up, and leave it out; repeatable
        /// zh: 出现这段文本就停，并且不输出它；可以写几次
        stop: Vec<OsString> = "TEXT" rare [allow_hyphen_values = true];
        /// Write on, never ending the text: the token for that is not drawn
        /// zh: 一直写，不结束文本：不抽取表示结束的词元
        ignore_eos: Option<bool> = "0|1" rare;
        /// Temperature; 0: always the most likely token [default: 0.8]
        /// zh: 温度；0：总取最可能的词元 [默认：0.8]
        temp: Option<f32> = "X" [visible_alias = "temperature"];
        /// Choose among the K most likely tokens; 0: all [default: 0]
        /// zh: 在最可能的 K 个词元里选；0：全部 [默认：0]
        topk: Option<usize> = "K" [visible_alias = "top-k"];
        /// Choose among the fewest tokens that together have probability P [default: 1]
        /// zh: 在概率合计达到 P 的最少几个词元里选 [默认：1]
        top_p: Option<f32> = "P" rare [visible_alias = "topp"];
        /// Choose among tokens with at least P times the probability of the likeliest [default: 0]
        /// zh: 在概率至少是最大概率的 P 倍的词元里选 [默认：0]
        min_p: Option<f32> = "P" rare;
        /// Make tokens that occurred less likely: their scores are divided by X [default: 1]
        /// zh: 让出现过的词元不那么可能：分数除以 X [默认：1]
        repetition_penalty: Option<f32> = "X" rare [visible_alias = "repeat-penalty"];
        /// Only the last N tokens count as occurred; 0: the whole text [default: 0]
        /// zh: 只有最近 N 个词元算出现过；0：全文 [默认：0]
        repeat_last_n: Option<usize> = "N" rare;
        /// When the context is full, let its oldest N tokens go at once: more is faster, and
        /// forgets more; without this, a model with a window goes on and reads nothing anew
        /// [default: 1]
        /// zh: 上下文满了时，一次丢掉最旧的 N 个词元：越多越快，也忘得越多；不给这个选项时，带窗口的模型接着写，什么也不重读 [默认：1]
        slide: Option<usize> = "N" rare;
        /// Only printable ASCII, tabs and line breaks may come
        /// zh: 只允许可打印的 ASCII、制表符和换行
        ascii_only: Option<bool> = "0|1" rare;
        /// Show every byte outside printable ASCII as \xNN
        /// zh: 可打印 ASCII 以外的字节都显示成 \xNN
        escape_bytes: Option<bool> = "0|1" rare;
        /// Write generated bytes as they are, control characters too
        /// zh: 生成的字节原样写出，控制字符也不例外
        raw: Option<bool> = "0|1" rare [conflicts_with = "escape_bytes"];
        /// Before writing, show the N most likely next tokens
        /// zh: 写之前，显示最可能的 N 个下一个词元
        print_next_top: Option<usize> = "N" rare;
        /// Show them before every token (10, unless said otherwise)
        /// zh: 每个词元之前都显示（不另说明时为 10 个）
        print_next_top_each_step: Option<bool> = "0|1" rare;
    }
}

impl SamplingArgs {
    /// What the library says about its settings, said about the flags.
    pub(crate) fn refused(e: llm_core::Error) -> RunError {
        let llm_core::Error::Config { field, reason } = e else { return e.into() };
        let flag = field.replace("temperature", "temp").replace('_', "-");
        RunError::Usage(message!("--{}: {}", flag, reason))
    }

    /// Whether a text is asked for.
    pub fn asked(&self) -> bool {
        self.prompt.flag().is_some() || self.n.is_some() || self.num_samples.is_some()
    }
}

impl ProbeArgs {
    /// Whether any check is asked for.
    pub fn any(&self) -> bool {
        self.sanity_next_from_data.is_some() || self.sanity_offset.is_some()
    }
}

flags! {
    /// Next-token checks against the data.
    #[derive(Clone, Default)]
    pub struct ProbeArgs in "Checks after training" {
        /// At N places of the data, compare the model's first choice with the token that comes
        /// zh: 在数据的 N 处，把模型的首选与实际的下一个词元相比
        sanity_next_from_data: Option<usize> = "N" rare;
        /// Context at each place [default: the training window]
        /// zh: 每处的上下文长度 [默认：训练窗口的长度]
        sanity_ctx: Option<usize> = "T" rare;
        /// Number of choices shown at each place [default: 10]
        /// zh: 每处显示几个候选 [默认：10]
        sanity_top: Option<usize> = "N" rare;
        /// Look at one place only: the context starts at this token of the data
        /// zh: 只看一处：上下文从数据的这个词元开始
        sanity_offset: Option<usize> = "OFFSET" rare;
        /// End with exit code 3 when a smaller share of first choices is right (0 to 1)
        /// zh: 首选命中的比例低于它时，以退出码 3 结束（0 到 1）
        min_acc: Option<f64> = "SHARE" rare;
        /// Tokens of context shown at each place [default: 120]
        /// zh: 每处显示的上下文词元数 [默认：120]
        sanity_preview: Option<usize> = "N" rare;
    }
}
