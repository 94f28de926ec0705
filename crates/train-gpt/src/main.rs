//! The baseline trainer: single-head attention, and nothing of the multi-head variant.

use llm_cli::{Heads, Program};
use llm_core::model::SingleHead;
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    llm_cli::run(&Program {
        name: "train-gpt",
        about: "Train a small GPT with one attention head on the CPU, and write text with it.",
        heads: Heads::One { other: "train-gpt-mha" },
        with_heads: |_| Arc::new(SingleHead),
        attend: None,
        from_spec: |spec| Ok(Arc::new(SingleHead::from_spec(spec)?)),
    })
}
