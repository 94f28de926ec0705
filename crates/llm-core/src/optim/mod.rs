//! What changes the weights: optimizers, the learning rate's course, gradient clipping.

mod adamw;
mod choice;
mod clip;
mod divided;
mod hyperparameters;
mod lion;
mod optimizer;
mod schedule;
mod state;

pub use adamw::AdamW;
pub use choice::{OPTIMIZERS, OptimizerRow, find_optimizer, make_optimizer};
pub use clip::{clip_scale, grad_norm};
pub use divided::{Divided, buckets_of};
pub use hyperparameters::Hyperparameters;
pub use lion::Lion;
pub use optimizer::Optimizer;
pub use schedule::{Schedule, ScheduleKind};
pub use state::{OptimizerState, ParameterState, Slot};
