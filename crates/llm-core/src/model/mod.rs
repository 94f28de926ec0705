//! The model: settings, the attention seam, one block, the whole.

mod adapter;
mod attention;
mod attention_keys;
mod attention_spec;
mod attention_weights;
mod batch;
mod block;
mod config;
mod contract;
mod decode;
mod forward;
mod initial;
mod memory;
mod ngrams;
mod options;
mod parameters;
mod products;
mod recompute;
mod rotary;
mod single_head;
mod small_weights;
mod tiny_gpt;
mod workspace;

#[doc(hidden)]
pub use crate::adapter::{Pair, Part};
pub use crate::ops::{Context, NORM_EPS, Place, Probe, Site};
#[doc(hidden)]
pub use adapter::AdapterSpec;
pub(crate) use adapter::weights_blake3;
pub use attention::{Attention, check_attention};
pub use attention_spec::{AttentionSpec, Kept};
pub use batch::{Batch, BatchShape, Mode, Origin, WindowOrder};
pub use block::Block;
pub use config::Config;
pub use contract::{Breach, Clause, check_contract};
pub use decode::{Decode, Growing, Position, Scratch};
pub(crate) use forward::Unread;
pub use memory::Footprint;
pub use options::{Activation, Init, Mlp, MlpRow, Norm, NormRow, Positions};
pub use parameters::{Param, ParamList, Parameters, Start};
pub use rotary::{Rotary, RotaryScaling};
pub use single_head::SingleHead;
pub use tiny_gpt::{TinyGPT, Weights, parameter_list, parameter_shapes};
pub(crate) use workspace::Workspace;
