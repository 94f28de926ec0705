//! Models and tokenizers of other programs: read, checked, and written.
//!
//! Each module imports only from those above it in this list:
//!
//! | module | holds |
//! |---|---|
//! | [`error`], [`files`] | what can be wrong with a file from elsewhere; opening it |
//! | `alphabet` | GPT-2's character for every byte, so that vocabularies are text |
//! | [`kept`] | what is next to a tokenizer's file: its first and last token, a chat template |
//! | [`bpe`] | byte-level BPE, GPT-2's way of cutting text: trained, read, written |
//! | [`tokenizers`] | llm-core's tokenizers and BPE, by the kind that a checkpoint stores |
//! | [`first_look`] | what a file or folder is, for code that does not read it |
//! | [`json_look`] | what a text in JSON holds, by its beginning |
//! | [`npz`] | NumPy's files of arrays, written |
//! | [`nano_gpt`] | the characters of nanoGPT's token numbers |
//! | [`texts`] | texts in memory or on the disk, several as one: where one ends, what is unseen, their tokens |
//! | [`chat`] | conversations: lines of JSON, a model's own chat template, which tokens are answers |
//! | [`data_files`] | files that are given to learn from: found, known by their kind, unpacked, held |
//! | `wanted` | which tensors a file must have |
//! | [`safetensors`] | the safetensors format, with our own checks |
//! | [`imported`] | what all readers give: a model with its tokenizer, and how it would be trained on |
//! | `holder` | what a kind of model of another program holds; everything else is refused by its key |
//! | [`adapter`] | the parts that a matrix has for an adapter |
//! | `mapping` | which of its tensors each of our parameters is, and their numbers both ways |
//! | `pairs` | A and B of an adapter, by the tensor of theirs that they are added to |
//! | [`own_names`] | one safetensors file with this project's parameter names |
//! | [`llm_cpp`] | reads the C++ original's checkpoints, format version 1 |
//! | [`hugging_face`] | a folder of Hugging Face's: GPT-2's and Llama's names, config.json, tokenizer files |
//! | [`gguf`] | one file for llama.cpp: blocks of rounded numbers, names, tokenizer |
//!
//! Nothing in a file from elsewhere is believed. Sizes have the limits of
//! [`Config`](llm_core::Config), and which tensors there must be, of which shapes, follows from the
//! settings before memory is taken. How attention is made is the caller's choice
//! ([`FromSpec`]): the crate knows no variant.
//!
//! ```
//! use llm_core::model::SingleHead;
//! use llm_core::tokenizer::ByteTokenizer;
//! use llm_core::{Config, TinyGPT};
//! use llm_formats::own_names;
//! use std::sync::Arc;
//!
//! let path = std::env::temp_dir().join(format!("model-{}.safetensors", std::process::id()));
//! let model = TinyGPT::new(Config::new(256, 8, 16, 1), 1)?;
//! own_names::export(&path, &model, &ByteTokenizer)?;
//!
//! let imported =
//!     own_names::import(&path, None, &|spec| Ok(Arc::new(SingleHead::from_spec(spec)?)))?;
//! let (again, tokenizer) = imported.into_model()?;
//! assert_eq!((again.wte.data(), tokenizer.name()), (model.wte.data(), "byte"));
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod error;
pub mod files;

mod alphabet;

pub mod kept;

pub mod bpe;

pub mod tokenizers;

pub mod first_look;

pub mod json_look;

pub mod npz;

pub mod nano_gpt;

pub mod texts;

pub mod chat;

pub mod data_files;

mod wanted;

pub mod safetensors;

pub mod imported;

mod holder;

pub mod adapter;

mod mapping;

mod pairs;

pub mod own_names;

pub mod llm_cpp;

pub mod hugging_face;

pub mod gguf;

#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;

pub use error::{FormatError, Result};
pub use imported::{FromSpec, Imported, Note};

#[cfg(test)]
mod tests;
