//! What a model answers to a few questions, while it learns from rewards.

use crate::log::step_lines::StepLine;
use llm_core::TokenId;
use serde::{Deserialize, Serialize};

/// Most characters of a question or an answer that are kept.
const MOST_CHARS: usize = 1000;

/// Answers to questions that stay the same all the run, and how far the model is from where it began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AnswerMoment {
    /// After which step.
    pub step: u64,
    /// KL(start ‖ now) in nats a token, estimated on answers that the model wrote at its start: the mean over
    /// their tokens of r − 1 − ln r, r = p(now)/p(start). `None` where these answers are gone.
    pub start_kl: Option<f64>,
    /// The likeliest answers.
    pub answers: Vec<ShownAnswer>,
    /// In the first line of a file: the answers of the start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<FirstAnswer>,
}

/// An answer, token by token the likeliest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownAnswer {
    /// The question.
    pub question: String,
    /// What was written.
    pub answer: String,
    /// Whether it is the known answer; `None` where none is known.
    pub right: Option<bool>,
}

impl ShownAnswer {
    /// An answer. Of very long texts the beginning is kept.
    pub fn new(question: &str, answer: &str, right: Option<bool>) -> ShownAnswer {
        let cut = |text: &str| text.chars().take(MOST_CHARS).collect();
        ShownAnswer { question: cut(question), answer: cut(answer), right }
    }
}

/// An answer that the model drew at its start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FirstAnswer {
    /// The number of its question, among those that stay the same.
    pub question: usize,
    /// The tokens.
    pub tokens: Vec<TokenId>,
    /// ln p of each at the start.
    pub logprobs: Vec<f32>,
}

impl StepLine for AnswerMoment {
    const NAME: &'static str = "answers.jsonl";

    fn step(&self) -> u64 {
        self.step
    }
}
