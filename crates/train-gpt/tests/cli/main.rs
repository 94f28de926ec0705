//! The command line of `train-gpt`, from outside: what is typed, printed, saved and refused.

#![allow(clippy::unwrap_used)]

#[cfg(feature = "bpe")]
mod bpe;
mod brought;
mod data;
mod data_kinds;
mod diverging;
mod exchange;
mod flags;
mod folders;
mod forgetting;
mod generating;
mod held;
mod inspect;
mod json;
mod large_data;
#[cfg(target_os = "linux")] // elsewhere `ulimit` may have no such limit
mod limits;
mod recipe;
mod refusals;
mod report;
mod resuming;
mod runs;
mod sampling;
mod saving;
mod serving;
mod settings;
mod signals;
mod terminal;
mod texts;
#[cfg(feature = "bpe")]
mod tokenizer_verb;
mod tokenizers;
mod trace;
mod validation;

use workspace_tests::cli_support::Sandbox;

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_train-gpt"))
}

/// A sandbox with a finished run of 4 steps on `text.txt`, saved as `model`.
fn trained() -> Sandbox {
    let sandbox = sandbox();
    // After four steps a head that began at 0 would find all tokens alike.
    let steps = ["--data", "text.txt", "--steps", "4", "--init", "zero-out", "--lr", "4e-3"];
    sandbox.train(&[&steps[..], &["--save", "model", "-q", "--gen", "0"]].concat());
    sandbox
}
