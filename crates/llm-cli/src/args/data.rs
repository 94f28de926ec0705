//! What is said about files of text.

use super::TokenizerArgs;
use crate::flags::{Typed, VAL_FRAC};
use crate::words::{Word, flags, one_of};
use llm_core::recipe::{DataForm, EndOfText};
use std::path::PathBuf;

/// What files hold.
#[rustfmt::skip]
pub(super) const FORMS: &[Word<DataForm>] = &[
    ("text", DataForm::Text, "Text; what is none is refused zh: 文本；不是文本就拒绝"),
    ("bytes", DataForm::Bytes, "Any bytes, learnt as if they were text zh: 任意字节，当作文本来学"),
    ("u16", DataForm::U16, "Token numbers of 16 bits, little-endian, as in nanoGPT's train.bin zh: 16 位的词元编号，小端序，与 nanoGPT 的 train.bin 相同"),
];

/// Where texts end in files.
#[rustfmt::skip]
pub(super) const ENDS: &[Word<EndOfText>] = &[
    ("none", EndOfText::None, "Nowhere: all files are one text zh: 不结束：所有文件是一段文本"),
    ("files", EndOfText::Files, "After each file, when there are several zh: 有几个文件时，每个之后"),
    ("marked", EndOfText::Marked, "There, and where <|endoftext|> is written zh: 那里，以及写着 <|endoftext|> 的地方"),
];

flags! {
    /// What is learnt, and what is unseen.
    #[derive(Clone, Default)]
    pub struct DataArgs in "Data" {
        /// Text to learn: files and folders, also packed with gzip; `-` is standard input [default:
        /// built-in stories]
        /// zh: 要学的文本：文件和目录，用 gzip 压缩的也行；`-` 是标准输入 [默认：内置故事]
        data: Vec<PathBuf> = "FILE" [num_args = 1..];
        /// What --data and --val hold, where it is not seen or is no text
        /// zh: --data 和 --val 里是什么，用于看不出来或不是文本时
        data_as: Option<DataForm> = "KIND" rare [visible_alias = "tokens", value_parser = one_of(FORMS)];
        /// Where a text ends, and a token says so: none, files (after each of several) or marked
        /// (also where <|endoftext|> is written) [default: files]
        /// zh: 文本在哪里结束，并用一个词元表示：none（不结束）、files（有几个文件时，每个之后）或 marked（还有写着 <|endoftext|> 的地方） [默认：files]
        end_of_text: Option<EndOfText> = "WHERE" rare [value_parser = one_of(ENDS)];
        /// What is unseen.
        ..val_frac: Typed<VAL_FRAC>;
        /// Validation text of its own: files and folders; all of --data is then learnt
        /// zh: 单独的验证文本：文件和目录；这时 --data 全部用来学
        val: Vec<PathBuf> = "FILE" [num_args = 1.., visible_alias = "val-data", conflicts_with = "val-frac"];
        /// Tokens.
        ..tokenizer: TokenizerArgs;
    }
}
