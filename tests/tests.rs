//! Tests of what the libraries do together, one binary; modules are named by behaviour. Those of
//! pages and sources are in `pages.rs`.

#![allow(clippy::unwrap_used)] // also in the helpers between the tests

mod adapters;
mod adapters_of_peft;
mod any_attention;
mod attention_modules;
mod borders;
mod borders_of_formats;
#[cfg(feature = "bpe")]
mod bpe_packages;
mod crew;
mod edges;
mod exchange;
mod gradients;
mod hooks;
mod listing;
mod llama;
mod mha_vs_single_head;
mod modern_attention;
mod original_replay;
mod own_optimizer;
mod passages;
mod pruning;
mod pytorch_modules;
mod pytorch_ops;
mod pytorch_training;
mod random_shapes;
mod rewards;
mod rounded_products;
mod training;
mod writers;
