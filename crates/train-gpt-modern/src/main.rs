//! The modern trainer: multi-head attention with what today's models have, each off by default.

use llm_cli::{ALL_OPTIONS, Arch, AttentionKind, BASELINE, Heads, Models, Panics, Program};
use llm_core::AttentionSpec;
use llm_core::base::allocations::Counting;
use llm_variant_modern::{self as modern, Modern, causal_attention_grouped};
use std::process::ExitCode;
use std::sync::Arc;

/// Counts large blocks, so that `bench` can show that a step takes none.
#[global_allocator]
static ALLOCATOR: Counting = Counting;

const PROGRAM: Program = Program {
    about: "Train a small GPT with the parts of today's models on the CPU, and write text with it.",
    models: Models {
        name: "train-gpt-modern",
        heads: Heads::Many { default: 4 },
        attentions: &[AttentionKind::plain(Modern::NAME, |spec| {
            Ok(Arc::new(Modern::from_spec(spec)?))
        })],
        options: ALL_OPTIONS,
        for_text: Arch::Llama,
        ..BASELINE
    },
    attend: Some(|qkv, n_heads| {
        let width = qkv.shape().last().copied().unwrap_or(0) / 3;
        let heads = modern::HeadShape::new(&AttentionSpec::new(Modern::NAME, n_heads), width);
        causal_attention_grouped(qkv, heads, &[], None)
    }),
};

fn main() -> ExitCode {
    let panics = Panics::default();
    std::panic::set_hook(panics.hook());
    panics.catch(|| llm_cli::run(&PROGRAM))
}
