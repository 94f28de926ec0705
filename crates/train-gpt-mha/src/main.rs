//! The multi-head trainer: every model attends with H heads, also for H = 1.

use llm_cli::{Heads, Program};
use llm_variant_mha::{MultiHead, causal_attention_heads};
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    llm_cli::run(&Program {
        name: "train-gpt-mha",
        about: "Train a small GPT with multi-head attention on the CPU, and write text with it.",
        heads: Heads::Many { default: 4 },
        with_heads: |n_heads| Arc::new(MultiHead::new(n_heads)),
        attend: Some(|qkv, n_heads| causal_attention_heads(qkv, n_heads, &[], None)),
        from_spec: |spec| Ok(Arc::new(MultiHead::from_spec(spec)?)),
    })
}
