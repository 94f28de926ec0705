//! What a text begins with: the flags that several verbs share.

use crate::words::flags;
use llm_core::TokenId;
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
