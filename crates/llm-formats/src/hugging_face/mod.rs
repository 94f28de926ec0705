//! A folder as Hugging Face's `transformers` reads and writes it for the models of [`Family`]: GPT-2, and
//! Llama with its kin.
//!
//! | file | holds | here |
//! |---|---|---|
//! | model.safetensors, or its parts and model.safetensors.index.json | weights | `names`: which of ours is which of theirs |
//! | config.json | sizes and options | [`config`], `llama` |
//! | tokenizer.json, or vocab.json and merges.txt | the tokenizer | [`tokenizer`]; `units`: bytes and characters |
//! | generation_config.json | how text is drawn | written only |
//! | adapter_config.json, adapter_model.safetensors | an adapter, in a folder of its own | [`peft`] |

mod family;
mod fields;
mod names;
mod rope;
mod units;

mod llama;

pub mod config;
pub mod tokenizer;

pub(crate) mod weights;

mod export;
mod import;

pub mod peft;

pub use crate::holder::has_head_bias;
pub use export::{check_model, export, notes, prepare_folder};
pub use family::Family;
pub use import::{from_parts, import};

/// File of the weights.
pub const WEIGHTS: &str = "model.safetensors";
/// File that names the file of each tensor, where there are several.
pub const INDEX: &str = "model.safetensors.index.json";
/// File of sizes and options.
pub const CONFIG: &str = "config.json";
/// File with the way in which text is drawn.
pub const GENERATION: &str = "generation_config.json";

#[cfg(test)]
mod llama_tests;
#[cfg(test)]
mod tests;
