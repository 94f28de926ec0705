//! Flags that say how text becomes tokens, and the verb `tokenizer`.

use super::OutputArgs;
use super::choices::ENDS;
use crate::words::{flags, one_of};
use clap::builder::{OsStringValueParser, TypedValueParser, ValueParser};
use clap::{Subcommand, ValueHint};
use llm_core::recipe::EndOfText;
use llm_run::tokenizers::{TokenizerKind, TokenizerOptions};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

flags! {
    /// How text becomes tokens.
    #[derive(Clone, Default)]
    pub struct TokenizerArgs {
        /// How text becomes tokens: byte, char, bpe (learned from the text), or a tokenizer.json;
        /// with
        /// --load: the run's own [default: byte]
        /// zh: 文本怎样变成词元：byte、char、bpe（从文本学）或一个 tokenizer.json；加 --load 时用那次训练自己的 [默认：byte]
        kind: Option<TokenizerKind> = "KIND|FILE" [
            long = "tokenizer", value_parser = kind(), value_hint = ValueHint::FilePath,
            help_heading = "Data",
        ];
        /// Number of tokens that --tokenizer bpe learns, fewer from little text [default: 1024]
        /// zh: --tokenizer bpe 学多少个词元，文本少时会更少 [默认：1024]
        vocab_size: Option<usize> = "V" rare [help_heading = "Data"];
        /// Vocabulary of a BPE tokenizer: GPT-2's vocab.json, or one token a line
        /// zh: BPE 分词器的词表：GPT-2 的 vocab.json，或每行一个词元
        bpe_vocab: Option<PathBuf> = "FILE" rare [help_heading = "Data"];
        /// Merges of that vocabulary: GPT-2's merges.txt
        /// zh: 它的合并规则：GPT-2 的 merges.txt
        bpe_merges: Option<PathBuf> = "FILE" rare [help_heading = "Data"];
    }
}

impl TokenizerArgs {
    /// What a run is given of them.
    pub fn options(&self) -> TokenizerOptions {
        let TokenizerArgs { kind, vocab_size, bpe_vocab, bpe_merges } = self.clone();
        TokenizerOptions { kind, vocab_size, bpe_vocab, bpe_merges }
    }
}

/// Reads a kind, or the name of a file that looks like one.
fn kind() -> ValueParser {
    let read = |word: OsString| match word.to_str() {
        Some("byte") => Ok(TokenizerKind::Byte),
        Some("char") => Ok(TokenizerKind::Char),
        Some("bpe") => Ok(TokenizerKind::Bpe),
        _ if is_path(&word) || Path::new(&word).exists() => Ok(TokenizerKind::File(word.into())),
        _ => Err("it is byte, char, bpe, or a file such as ./tokenizer.json"),
    };
    OsStringValueParser::new().try_map(read).into()
}

/// Whether it has a folder or an extension.
fn is_path(word: &OsStr) -> bool {
    let path = Path::new(word);
    path.extension().is_some() || path.components().count() > 1 || path.is_absolute()
}

flags! {
    /// Which tokenizer a verb is about.
    pub struct SourceArgs in "Tokenizer" {
        /// Tokenizer of a checkpoint, or of the folder of a run
        /// zh: 检查点或训练目录里的分词器
        load: Option<PathBuf> = "FILE" [
            conflicts_with_all = ["tokenizer", "bpe_vocab", "bpe_merges"],
        ];
        /// A tokenizer.json, or `byte`
        /// zh: 一个 tokenizer.json，或 `byte`
        kind: Option<TokenizerKind> = "FILE" [
            id = "tokenizer", long = "tokenizer", value_parser = kind(),
            value_hint = ValueHint::FilePath,
        ];
        /// A BPE vocabulary: GPT-2's vocab.json, or one token a line
        /// zh: BPE 词表：GPT-2 的 vocab.json，或每行一个词元
        bpe_vocab: Option<PathBuf> = "FILE";
        /// Merges of that vocabulary: GPT-2's merges.txt
        /// zh: 它的合并规则：GPT-2 的 merges.txt
        bpe_merges: Option<PathBuf> = "FILE";
    }
}

/// What can be done with a tokenizer.
#[derive(Debug, Subcommand)]
pub enum TokenizerVerb {
    /// Learn a byte-level BPE vocabulary and save it as a tokenizer.json
    /// zh: 学一个字节级 BPE 词表，存成 tokenizer.json
    Train(TokenizerTrainArgs),
    /// Text to token numbers
    /// zh: 从文本到词元编号
    Encode(EncodeArgs),
    /// Token numbers to text
    /// zh: 从词元编号到文本
    Decode(DecodeArgs),
    /// Kind, size and longest tokens; with --data: how many bytes a token stands for
    /// zh: 种类、大小和最长的词元；加 --data：一个词元代表多少字节
    Info(InfoArgs),
}

flags! {
    /// `tokenizer train`.
    pub struct TokenizerTrainArgs {
        /// Text to learn from, repeatable; `-` is standard input [default: built-in stories]
        /// zh: 用来学的文本，可以写几次；`-` 是标准输入 [默认：内置故事]
        data: Vec<PathBuf> = "FILE" [num_args = 1..];
        /// Where a text ends, for which there is a token then: none, files (after each of several)
        /// or marked (also where <|endoftext|> is written) [default: files]
        /// zh: 文本在哪里结束，这时有一个词元表示它：none（不结束）、files（有几个文件时，每个之后）或 marked（还有写着 <|endoftext|> 的地方） [默认：
        /// files]
        end_of_text: Option<EndOfText> = "WHERE" [value_parser = one_of(ENDS)];
        /// Number of tokens, 256 or more; fewer from little text [default: 1024]
        /// zh: 词元数，至少 256；文本少时会更少 [默认：1024]
        vocab_size: Option<usize> = "V";
        /// The tokenizer.json to write (an existing one is replaced)
        /// zh: 要写的 tokenizer.json（已有的会被替换）
        save: PathBuf = "FILE";
        /// What is printed.
        ..output: OutputArgs;
    }
}

flags! {
    /// `tokenizer encode`.
    pub struct EncodeArgs {
        /// Text [default: standard input]
        /// zh: 文本 [默认：标准输入]
        <text>: Option<OsString> = "TEXT" [allow_hyphen_values = true];
        /// A file's text
        /// zh: 文件里的文本
        file: Option<PathBuf> = "FILE" [conflicts_with = "text"];
        /// One JSON object: the numbers, and what they stand for
        /// zh: 一个 JSON 对象：编号，以及它们代表什么
        json: bool;
        /// Which tokenizer.
        ..source: SourceArgs;
        /// What is printed.
        ..output: OutputArgs;
    }
}

flags! {
    /// `tokenizer decode`.
    pub struct DecodeArgs {
        /// Token numbers, separated by spaces or commas [default: standard input]
        /// zh: 词元编号，用空格或逗号分开 [默认：标准输入]
        <ids>: Vec<String> = "ID";
        /// Write the bytes as they are, control characters too, and no line break after them
        /// zh: 字节原样写出，控制字符也不例外，末尾不加换行
        raw: bool;
        /// Which tokenizer.
        ..source: SourceArgs;
        /// What is printed.
        ..output: OutputArgs;
    }
}

flags! {
    /// `tokenizer info`.
    pub struct InfoArgs {
        /// Text to count the tokens of, repeatable; `-` is standard input
        /// zh: 要数词元的文本，可以写几次；`-` 是标准输入
        data: Vec<PathBuf> = "FILE" [num_args = 1..];
        /// One JSON object
        /// zh: 一个 JSON 对象
        json: bool;
        /// Which tokenizer.
        ..source: SourceArgs;
        /// What is printed.
        ..output: OutputArgs;
    }
}
