//! The training step and loop, and evaluation. Nothing here prints.

mod evaluate;
mod facts;
mod trainer;

pub use evaluate::{Evaluation, Scored, evaluate};
pub use facts::{FactScores, FactTable};
pub use trainer::{StepReport, Trainer, accumulated_step, train_step};
