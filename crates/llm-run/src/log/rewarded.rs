//! What the rewards of steps were.

use crate::log::step_lines::StepLine;
use serde::{Deserialize, Serialize};

/// The answers of a step and their rewards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rewarded {
    /// Steps done, this one included.
    pub step: u64,
    /// The mean reward.
    pub reward: f64,
    /// Share of the questions whose answers differ in their rewards: these alone teach.
    pub differ: f64,
    /// Mean length of an answer, in tokens.
    pub length: f64,
    /// Entropy of the model over the tokens of its answers: the mean of −Σ p·ln p, in nats.
    #[serde(default)]
    pub entropy: f64,
    /// Where the start counts: how far the model was from it, in nats a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kl: Option<f64>,
    /// The share of the tokens in the later of several updates whose probability has changed too much to teach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clipped: Option<f64>,
    /// Where a program judges: what it said of each micro-batch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<Said>,
}

/// What a program said of the answers to the questions of a micro-batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// A hash of what it was asked.
    pub asked: u64,
    /// A reward for each answer.
    pub rewards: Vec<f64>,
}

impl StepLine for Rewarded {
    const NAME: &'static str = "rewards.jsonl";

    fn step(&self) -> u64 {
        self.step
    }
}
