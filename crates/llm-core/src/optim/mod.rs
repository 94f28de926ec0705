//! What changes the weights: optimizers, the learning rate's course, gradient clipping.

mod adamw;
mod choice;
mod clip;
mod hyperparameters;
mod lion;
mod muon;
mod optimizer;
mod schedule;
mod state;

pub use adamw::AdamW;
pub use choice::OPTIMIZERS;
#[doc(hidden)]
pub use choice::find_optimizer;
pub use clip::{clip_scale, grad_norm};
pub use hyperparameters::Hyperparameters;
pub use lion::Lion;
pub use muon::Muon;
pub use optimizer::{Optimizer, OptimizerParts, OptimizerRow};
pub use schedule::{Schedule, ScheduleKind};
pub use state::{OptimizerState, ParameterState, Slot};
