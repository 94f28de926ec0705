//! The model: settings, the attention seam, one block, the whole.

mod attention;
mod attention_weights;
mod batch;
mod block;
mod config;
mod decode;
mod forward;
mod initial;
mod memory;
mod parameters;
mod single_head;
mod tiny_gpt;
mod workspace;

pub use crate::ops::{Context, Place, Probe};
pub use attention::{Attention, AttentionSpec};
pub use batch::{Batch, Mode, Origin};
pub use block::Block;
pub use config::{Activation, Config, Init, NORM_EPS};
pub use decode::{Decode, Position, Scratch};
pub use memory::Footprint;
pub use parameters::{Param, ParamList, Parameters, Start, standard_parameters};
pub use single_head::SingleHead;
pub use tiny_gpt::{TinyGPT, Weights, parameter_list, parameter_shapes};
pub(crate) use workspace::Workspace;
