//! One file for llama.cpp and the programs that stand on it: GGUF, version 3.
//!
//! ```text
//! 'GGUF', version, number of tensors, number of entries
//! entries:  key, type, value                    sizes, tokenizer, ..
//! tensors:  name, axes (the last one first), type, offset
//! padding to a multiple of 32, then the tensors, each padded likewise
//! ```
//!
//! | what | where |
//! |---|---|
//! | how numbers are stored: layouts of blocks and their equations | [`BlockType`], [`dequantise`], [`quantise`] |
//! | the file itself, read and written | [`Gguf`], [`MetaValue`] |
//! | which of its tensors is which of our parameters | `names`, by [`Architecture`] |
//! | what it says of a model | `described` |
//! | tokens and merges, and how text is cut before | `tokens`, `ways` |
//! | a whole model, out and in | [`export()`], [`import()`] |
//! | an adapter by itself; what is left of one in rounded weights | [`export_adapter`]; [`Survival`] |
//! | what Ollama needs besides: a chat template in its own language | [`write_modelfile`], `ollama` |
//!
//! Reference: `docs/gguf.md` of ggml.

mod block;
mod dequantise;
mod input;
mod quantise;
mod value;

mod file;
mod write;

mod architecture;
mod names;

mod described;
mod tokens;
mod ways;

mod survival;

mod export;
mod import;

mod adapter;

mod ollama;

mod modelfile;

pub use adapter::export_adapter;
pub use architecture::Architecture;
pub use block::BlockType;
pub use dequantise::dequantise;
pub use export::{Exported, check_model, export, is_ours};
pub use file::{Gguf, TensorInfo};
pub use import::{import, read};
pub use modelfile::{
    Spoken, check_name, is_our_modelfile, modelfile, modelfile_of, write_modelfile,
};
pub use quantise::{Stored, quantise};
pub use survival::Survival;
pub use value::MetaValue;

#[cfg(test)]
mod tests;
