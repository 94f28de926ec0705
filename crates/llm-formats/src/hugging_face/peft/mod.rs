//! A folder of peft's with an adapter for a model of [`Family`](super::Family).
//!
//! | file | holds |
//! |---|---|
//! | adapter_model.safetensors | `base_model.model.` + module + `.lora_A.weight` `[r, in]` and `.lora_B.weight` `[out, r]` |
//! | adapter_config.json | rank and alpha, by module where they differ: s = alpha/r, with `use_rslora` alpha/√r |
//!
//! Neither says which weights the adapter belongs to. A folder that is written here does, by their BLAKE3 among
//! the metadata of the tensors.

mod config;
mod export;
mod import;

pub use export::export;
pub use import::import;

/// File of A and B.
pub const TENSORS: &str = "adapter_model.safetensors";
/// File of ranks and scales.
pub const SETTINGS: &str = "adapter_config.json";
/// File of older versions, which is not read.
const PICKLE: &str = "adapter_model.bin";
/// Entry of the metadata with the hash of the weights.
pub(crate) const BASE: &str = "tiny-gpt.base_blake3";

/// All digits of a hash.
pub(crate) fn hex(hash: &[u8; 32]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Name of their A (0) or B (1) beside the weights of this name.
fn tensor(weights: &str, kind: usize) -> String {
    format!("base_model.model.{}.lora_{}.weight", module(weights), ["A", "B"][kind])
}

/// Name of the module that weights are of.
fn module(weights: &str) -> &str {
    weights.strip_suffix(".weight").unwrap_or(weights)
}
