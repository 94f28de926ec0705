//! The samples of a run.

use crate::log::step_lines::StepLine;
use serde::{Deserialize, Serialize};

/// Most characters of a prompt or text that are kept.
pub(super) const MOST_CHARS: usize = 8192;

/// A text that the model wrote on the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// After which step.
    pub step: u64,
    /// What it began with.
    pub prompt: String,
    /// What the model wrote after it.
    pub text: String,
}

impl Sample {
    /// A text. Of a very long one the beginning is kept.
    pub fn new(step: u64, prompt: &str, text: &str) -> Sample {
        let cut = |text: &str| match text.char_indices().nth(MOST_CHARS) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text.to_string(),
        };
        Sample { step, prompt: cut(prompt), text: cut(text) }
    }
}

impl StepLine for Sample {
    const NAME: &'static str = "samples.jsonl";

    fn step(&self) -> u64 {
        self.step
    }
}
