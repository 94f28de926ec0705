//! The training step and loop, and evaluation. Nothing here prints.

mod evaluate;
mod facts;
mod spikes;
mod trainer;

pub use evaluate::{Evaluation, Scored, evaluate};
pub use facts::{FactScores, FactTable};
pub use spikes::{Spike, SpikeGuard, WINDOW as SPIKE_WINDOW};
pub use trainer::{StepReport, Trainer, Watch, accumulated_step, train_step};
