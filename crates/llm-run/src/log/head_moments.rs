//! What heads look at and what they carry, while a run learns.

use crate::log::step_lines::StepLine;
use serde::{Deserialize, Serialize};

/// The heads after a step, on pairs of unseen stories that differ in the other person's name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeadMoment {
    /// After which step.
    pub step: u64,
    /// Pairs of stories.
    pub pairs: usize,
    /// Pairs of which the model gets both answers right.
    pub right: usize,
    /// `[L][H]`: the mean weight that the last position puts on the letters that the twin changes.
    pub looks: Vec<Vec<f64>>,
    /// `[L][H]`: by how much the answer's score falls behind the twin's, in nats, when the head's numbers at
    /// the end are those of the twin; the mean over the pairs.
    pub moves: Vec<Vec<f64>>,
}

impl StepLine for HeadMoment {
    const NAME: &'static str = "heads.jsonl";

    fn step(&self) -> u64 {
        self.step
    }
}
