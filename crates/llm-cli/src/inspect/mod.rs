//! What is inside a model, as data: nothing here prints. The verb `inspect` shows it, and a page
//! may ([`report`](crate::report)).
//!
//! | file | question |
//! |---|---|
//! | `model.rs`, `flops.rs`, `known_models.rs` | How large is it, and what does attention cost? |
//! | `attention.rs`, `heat.rs`, `svg.rs` | Who looks at whom in this text? |
//! | `heads.rs`, `marks.rs`, `roles.rs`, `spread.rs` | What does each head do, over many texts? |
//! | `prune.rs` | What is lost without it? |

mod attention;
mod flops;
mod heads;
mod heat;
mod known_models;
mod label;
mod marks;
mod model;
mod prune;
mod roles;
mod spread;
mod svg;

pub use attention::attention_maps;
pub use flops::AttentionCost;
pub use heads::{HeadsReport, measure_heads};
pub(crate) use heat::MOST as MOST_TOKENS;
pub use heat::{Ink, heat_map};
pub use known_models::{KNOWN_MODELS, KnownModel};
pub use label::label;
pub use model::{Memory, ModelReport, TensorRow};
pub use prune::{FromSpec, Pruner, Score, Scored};
pub(crate) use prune::{measurements, pruning};
pub use roles::{ROLES, Role};
pub use spread::{Spread, Spreads};
pub use svg::layer_picture;
