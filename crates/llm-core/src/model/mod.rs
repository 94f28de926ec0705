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
mod options;
mod parameters;
mod products;
mod single_head;
mod small_weights;
mod tiny_gpt;
mod workspace;

pub use crate::ops::{Context, NORM_EPS, Place, Probe};
pub use attention::{Attention, AttentionSpec, check_attention};
pub use batch::{Batch, Mode, Origin};
pub use block::Block;
pub use config::Config;
pub use decode::{Decode, Position, Scratch};
pub use memory::Footprint;
pub use options::{Activation, Init, Mlp, MlpRow, Norm, NormRow, Positions};
pub use parameters::{Param, ParamList, Parameters, Start, standard_parameters};
pub use single_head::SingleHead;
pub use tiny_gpt::{TinyGPT, Weights, parameter_list, parameter_shapes};
pub(crate) use workspace::Workspace;
