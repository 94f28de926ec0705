//! The model: settings, the attention seam, one block, the whole.

mod attention;
mod block;
mod config;
mod memory;
mod shapes;
mod tiny_gpt;

pub use attention::{Attention, AttentionSpec, Context, Decode, Probe, SingleHead};
pub use block::Block;
pub use config::{Config, Init};
pub use shapes::parameter_shapes;
pub use tiny_gpt::{NORM_EPS, TinyGPT};
