//! What a model made of pairs of answers.

use crate::log::step_lines::StepLine;
use serde::{Deserialize, Serialize};

/// What a model makes of some pairs: means over them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// How many.
    pub pairs: u64,
    /// −ln σ(m).
    pub loss: f64,
    /// m: by how much the better answer has gained more than the worse one, in nats times β.
    pub margin: f64,
    /// What the better answer has gained since the start: β·(ln p now − ln p then).
    pub better: f64,
    /// What the worse answer has gained.
    pub worse: f64,
    /// Share of pairs with a margin above 0.
    pub accuracy: f64,
    /// Share of pairs whose better answer is likelier than the worse one.
    pub likelier: f64,
}

impl Compared {
    /// Count and means, in the order of the fields.
    pub fn numbers(&self) -> [f64; 7] {
        let Compared { pairs, loss, margin, better, worse, accuracy, likelier } = *self;
        [pairs as f64, loss, margin, better, worse, accuracy, likelier]
    }

    /// Count and means from what [`Compared::numbers`] gives.
    pub fn of(numbers: [f64; 7]) -> Compared {
        let [pairs, loss, margin, better, worse, accuracy, likelier] = numbers;
        Compared { pairs: pairs as u64, loss, margin, better, worse, accuracy, likelier }
    }
}

/// The pairs of a step, or those that are unseen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paired {
    /// Steps done, this one included.
    pub step: u64,
    /// Whether no step learns from them.
    pub unseen: bool,
    /// What the model made of them: of a step's, before its update.
    #[serde(flatten)]
    pub of: Compared,
}

impl StepLine for Paired {
    const NAME: &'static str = "pairs.jsonl";

    fn step(&self) -> u64 {
        self.step
    }
}
