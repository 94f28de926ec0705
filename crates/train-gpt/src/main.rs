//! The baseline trainer: single-head attention, and nothing of the multi-head variant.

use llm_cli::{BASELINE, Beyond, Heads, Models, Panics, Program};
use llm_core::base::allocations::Counting;
use std::process::ExitCode;

/// Counts large blocks, so that `bench` can show that a step takes none.
#[global_allocator]
static ALLOCATOR: Counting = Counting;

const PROGRAM: Program = Program {
    about: "Train a small GPT with one attention head on the CPU, and write text with it.",
    models: Models {
        name: "train-gpt",
        heads: Heads::One { other: "train-gpt-mha" },
        beyond: Some(Beyond { program: "train-gpt-modern", attention: "modern" }),
        ..BASELINE
    },
    attend: None,
};

fn main() -> ExitCode {
    let panics = Panics::default();
    std::panic::set_hook(panics.hook());
    panics.catch(|| llm_cli::run(&PROGRAM))
}
