//! Models from and for other programs.
//!
//! | module | what it reads and writes |
//! |---|---|
//! | [`own`] | one safetensors file with this project's parameter names |
//! | [`hf`] | a folder of Hugging Face's: GPT-2's names, config.json, tokenizer files |
//! | [`llm_cpp`] | reads the C++ original's checkpoints, format version 1 |
//! | [`safetensors`] | the file format below the first two, with our own checks |
//!
//! Nothing in a file from elsewhere is believed. Sizes have the limits of [`Config`](llm_core::Config), and which
//! tensors there must be, of which shapes, follows from the settings before memory is taken.

#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
pub mod hf;
pub mod llm_cpp;
pub mod own;
pub mod safetensors;

mod imported;
mod problem;

pub use imported::{Imported, fine_tuning};
pub use problem::Problem;

#[cfg(test)]
mod tests;
