//! The multi-head trainer: every model attends with H heads, also for H = 1.

use llm_cli::{AttentionKind, BASELINE, Beyond, Heads, Models, Panics, Program};
use llm_core::base::allocations::Counting;
use llm_variant_mha::{MultiHead, causal_attention_heads};
use std::process::ExitCode;
use std::sync::Arc;

/// Counts large blocks, so that `bench` can show that a step takes none.
#[global_allocator]
static ALLOCATOR: Counting = Counting;

const PROGRAM: Program = Program {
    about: "Train a small GPT with multi-head attention on the CPU, and write text with it.",
    models: Models {
        name: "train-gpt-mha",
        heads: Heads::Many { default: 4 },
        attentions: &[AttentionKind::plain(MultiHead::NAME, |spec| {
            Ok(Arc::new(MultiHead::from_spec(spec)?))
        })],
        beyond: Some(Beyond { program: "train-gpt-modern", attention: "modern" }),
        ..BASELINE
    },
    attend: Some(|qkv, n_heads| causal_attention_heads(qkv, n_heads, &[], None)),
};

fn main() -> ExitCode {
    let panics = Panics::default();
    std::panic::set_hook(panics.hook());
    panics.catch(|| llm_cli::run(&PROGRAM))
}
