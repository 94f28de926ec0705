//! What is said about files of text.

use super::TokenizerArgs;
use super::choices::{ENDS, FORMS};
use crate::flags::{Typed, VAL_FRAC};
use crate::words::{flags, one_of};
use llm_core::recipe::{DataForm, EndOfText};
use std::path::PathBuf;

flags! {
    /// The training data, and what is unseen.
    #[derive(Clone, Default)]
    pub struct DataArgs in "Data" {
        /// Text to learn: files and folders, also packed with gzip; `-` is standard input [default:
        /// built-in stories]
        /// zh: 要学的文本：文件和目录，用 gzip 压缩的也行；`-` 是标准输入 [默认：内置故事]
        data: Vec<PathBuf> = "FILE" [num_args = 1..];
        /// What --data and --val hold, where it is not seen or is no text
        /// zh: --data 和 --val 里是什么，用于看不出来或不是文本时
        data_as: Option<DataForm> = "KIND" rare [
            visible_alias = "tokens", value_parser = one_of(FORMS),
        ];
        /// Where a text ends, and a token says so: none, files (after each of several) or marked
        /// (also where <|endoftext|> is written) [default: files]
        /// zh: 文本在哪里结束，并用一个词元表示：none（不结束）、files（有几个文件时，每个之后）或 marked（还有写着 <|endoftext|> 的地方） [默认：
        /// files]
        end_of_text: Option<EndOfText> = "WHERE" rare [value_parser = one_of(ENDS)];
        /// What is unseen.
        ..val_frac: Typed<VAL_FRAC>;
        /// Validation text of its own: files and folders; all of --data is then learned
        /// zh: 单独的验证文本：文件和目录；这时 --data 全部用来学
        val: Vec<PathBuf> = "FILE" [
            num_args = 1.., visible_alias = "val-data", conflicts_with = "val-frac",
        ];
        /// Tokens.
        ..tokenizer: TokenizerArgs;
    }
}
