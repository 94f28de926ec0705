//! What changes the weights: AdamW, the learning rate's course, gradient clipping.

mod adamw;
mod clip;
mod schedule;

pub use adamw::{AdamW, AdamWConfig, Moments};
pub use clip::{clip_scale, grad_norm};
pub use schedule::{Schedule, ScheduleKind};
