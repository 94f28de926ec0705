//! Tests of the workspace as a whole, one binary; modules are named by behaviour.

#![allow(clippy::unwrap_used)] // also in the helpers between the tests

mod attention_modules;
#[cfg(feature = "bpe")]
mod bpe_packages;
mod crew;
mod docs;
mod exchange;
mod floors;
mod gradients;
mod grouped_queries;
mod hooks;
mod literals;
mod llama;
mod many_machines;
mod mha_vs_single_head;
mod modern_attention;
mod named_path;
mod original_replay;
mod pruning;
mod pytorch_modules;
mod pytorch_ops;
mod pytorch_training;
mod random_shapes;
mod rounded_products;
mod training;
mod translations;
mod type_names;
mod web_page;
