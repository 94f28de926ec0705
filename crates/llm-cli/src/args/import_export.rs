//! `export` and `import`.

use super::OutputArgs;
use crate::words::{Word, described, flags, one_of, words};
use llm_formats::gguf::Stored;
use std::path::PathBuf;

flags! {
    /// `export`.
    pub struct ExportArgs {
        /// As what
        /// zh: 写成什么
        <format>: ExportFormat = "FORMAT";
        /// Folder (hf, peft) or file (safetensors, gguf) to write
        /// zh: 要写的目录（hf、peft）或文件（safetensors、gguf）
        <target>: PathBuf = "TARGET";
        /// Checkpoint, or the folder of a run
        /// zh: 检查点，或训练目录
        load: PathBuf = "FILE";
        /// Checkpoint with the weights under the adapter, where they have moved
        /// zh: 装着适配器所依附的权重的检查点，用于它们挪了地方时
        base: Option<PathBuf> = "FILE";
        /// How gguf stores the matrices
        /// zh: gguf 怎样存矩阵
        stored: Option<Stored> = "TYPE" [long = "type", value_parser = one_of(STORED)];
        /// Write the adapter alone: llama.cpp adds it to the model (gguf)
        /// zh: 只写适配器：由 llama.cpp 加到模型上（gguf）
        adapter: bool [conflicts_with = "stored"];
        /// What is printed.
        ..output: OutputArgs;
    }
}

flags! {
    /// `import`.
    pub struct ImportArgs {
        /// From what
        /// zh: 从什么读
        <format>: ImportFormat = "FORMAT";
        /// Folder (hf, peft), file (safetensors, gguf), what both file names begin with (llm-cpp), or
        /// the files of an app (chats)
        /// zh: 目录（hf、peft）、文件（safetensors、gguf）、两个文件名共同的开头（llm-cpp），或应用导出的文件（chats）
        <sources>: Vec<PathBuf> = "SOURCE" [required = true];
        /// Save the model in this checkpoint (an existing one is replaced); of chats, the
        /// conversations in this new file
        /// zh: 把模型存到这个检查点（已有的会被替换）；chats 则把对话存到这个新文件
        save: PathBuf = "FILE";
        /// Checkpoint, or folder of a run, with the model of the adapter (peft)
        /// zh: 适配器所属模型的检查点或训练目录（peft）
        base: Option<PathBuf> = "FILE";
        /// Whose messages are the answers, of those who speak in chats
        /// zh: 聊天里谁的消息当作回答
        me: Option<String> = "NAME";
        /// Number of attention heads, where the source does not say it
        /// zh: 注意力头的个数，用于来源没有写明时
        heads: Option<usize> = "H" [visible_alias = "n-heads"];
        /// What is printed.
        ..output: OutputArgs;
    }
}

words! {
    /// What a model is exported as.
    pub enum ExportFormat {
        /// A folder that Hugging Face's transformers loads as GPT-2, Llama or its kin
        /// zh: Hugging Face 的 transformers 能当作 GPT-2、Llama 或其近亲载入的目录
        Hf = "hf",
        /// One file with this program's own parameter names
        /// zh: 一个文件，用本程序自己的参数名
        Safetensors = "safetensors",
        /// One file for llama.cpp and programs that stand on it
        /// zh: 一个文件，给 llama.cpp 和以它为基础的程序
        Gguf = "gguf",
        /// The adapter alone, as a folder that peft loads beside the model
        /// zh: 只写适配器，成为 peft 能配着模型载入的目录
        Peft = "peft",
    }
}

/// How the numbers of matrices are stored.
const STORED: &[Word<Stored>] = described![
    /// As they are (default)
    /// zh: 原样（默认）
    "f32" = Stored::F32,
    /// Rounded to 16 bits each
    /// zh: 每个数舍入到 16 位
    "bf16" = Stored::BF16,
    /// Rounded to 8 bits each, with a scale for every 32
    /// zh: 每个数舍入到 8 位，每 32 个数共用一个比例
    "q8_0" = Stored::Q8_0,
];

words! {
    /// What is imported.
    pub enum ImportFormat {
        /// A folder with a GPT-2, a Llama or its kin as Hugging Face's transformers saves it
        /// zh: 装着 GPT-2、Llama 或其近亲的目录，由 Hugging Face 的 transformers 保存
        Hf = "hf",
        /// A file with this program's own parameter names
        /// zh: 用本程序自己的参数名的文件
        Safetensors = "safetensors",
        /// A file of llama.cpp's with a GPT-2, a Llama or a Qwen3
        /// zh: llama.cpp 的文件，里面是 GPT-2、Llama 或 Qwen3
        Gguf = "gguf",
        /// A folder of peft's with an adapter (LoRA) for the model in --base
        /// zh: peft 的目录，里面是 --base 中模型的适配器（LoRA）
        Peft = "peft",
        /// PREFIX.json and PREFIX.bin of the C++ original
        /// zh: C++ 原版的 PREFIX.json 和 PREFIX.bin
        LlmCpp = "llm-cpp",
        /// Not a model, but conversations to learn from: exports of WhatsApp, Telegram, Discord or
        /// ChatGPT, made lines of JSON
        /// zh: 不是模型，而是要学的对话：把 WhatsApp、Telegram、Discord 或 ChatGPT 的导出变成一行行 JSON
        Chats = "chats",
    }
}
