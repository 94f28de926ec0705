//! Attention in nine exercises. Each file `e1_linear.rs` to `e9_cache.rs` has functions without a body; write them, and
//! `cargo test e1` to `cargo test e9` turn green one after the other. How to work: `README.md`.
//!
//! Two more go on from there to the models of today, `m1_rotary.rs` and `m2_groups.rs`, one to what a head causes,
//! `p1_patch.rs`, one to what learns beside a model that stays as it is, `t1_adapter.rs`, and one to learning from
//! nothing but right and wrong, `t2_rewards.rs`.
//!
//! An exercise may use what the ones before it made: `use crate::linear;`.

mod given;

pub use given::{Adapter, Array1, Array2, Array3, Array4, Cache, Weights};

#[cfg_attr(feature = "wrong", path = "../solutions/wrong/e1_linear.rs")]
#[cfg_attr(feature = "solutions", path = "../solutions/e1_linear.rs")]
pub mod e1_linear;

#[cfg_attr(feature = "wrong", path = "../solutions/wrong/e2_scores.rs")]
#[cfg_attr(feature = "solutions", path = "../solutions/e2_scores.rs")]
pub mod e2_scores;

#[cfg_attr(feature = "wrong", path = "../solutions/wrong/e3_mask.rs")]
#[cfg_attr(feature = "solutions", path = "../solutions/e3_mask.rs")]
pub mod e3_mask;

#[cfg_attr(feature = "wrong", path = "../solutions/wrong/e4_softmax.rs")]
#[cfg_attr(feature = "solutions", path = "../solutions/e4_softmax.rs")]
pub mod e4_softmax;

#[cfg_attr(feature = "wrong", path = "../solutions/wrong/e5_split.rs")]
#[cfg_attr(feature = "solutions", path = "../solutions/e5_split.rs")]
pub mod e5_split;

#[cfg_attr(feature = "wrong", path = "../solutions/wrong/e6_multi_head.rs")]
#[cfg_attr(feature = "solutions", path = "../solutions/e6_multi_head.rs")]
pub mod e6_multi_head;

#[cfg_attr(feature = "wrong", path = "../solutions/wrong/e7_backward.rs")]
#[cfg_attr(feature = "solutions", path = "../solutions/e7_backward.rs")]
pub mod e7_backward;

#[cfg_attr(feature = "wrong", path = "../solutions/wrong/e8_switch_off.rs")]
#[cfg_attr(feature = "solutions", path = "../solutions/e8_switch_off.rs")]
pub mod e8_switch_off;

#[cfg_attr(feature = "wrong", path = "../solutions/wrong/e9_cache.rs")]
#[cfg_attr(feature = "solutions", path = "../solutions/e9_cache.rs")]
pub mod e9_cache;

#[cfg_attr(feature = "wrong", path = "../solutions/wrong/m1_rotary.rs")]
#[cfg_attr(feature = "solutions", path = "../solutions/m1_rotary.rs")]
pub mod m1_rotary;

#[cfg_attr(feature = "wrong", path = "../solutions/wrong/m2_groups.rs")]
#[cfg_attr(feature = "solutions", path = "../solutions/m2_groups.rs")]
pub mod m2_groups;

#[cfg_attr(feature = "wrong", path = "../solutions/wrong/p1_patch.rs")]
#[cfg_attr(feature = "solutions", path = "../solutions/p1_patch.rs")]
pub mod p1_patch;

#[cfg_attr(feature = "wrong", path = "../solutions/wrong/t1_adapter.rs")]
#[cfg_attr(feature = "solutions", path = "../solutions/t1_adapter.rs")]
pub mod t1_adapter;

#[cfg_attr(feature = "wrong", path = "../solutions/wrong/t2_rewards.rs")]
#[cfg_attr(feature = "solutions", path = "../solutions/t2_rewards.rs")]
pub mod t2_rewards;

pub use e1_linear::linear;
pub use e2_scores::{scores, weighted_sum};
pub use e3_mask::hide_future;
pub use e4_softmax::{causal_attention, softmax};
pub use e5_split::{join_heads, split_heads};
pub use e6_multi_head::multi_head;
pub use e7_backward::{linear_backward, softmax_backward};
pub use e8_switch_off::multi_head_with;
pub use e9_cache::next_token;
pub use m1_rotary::rotate;
pub use m2_groups::{cache_numbers, grouped_attention};
pub use p1_patch::{patched, put_in};
pub use t1_adapter::{adapted, adapter_backward, merge};
pub use t2_rewards::{advantages, clipped, policy_gradient};

#[cfg(feature = "wrong")]
#[path = "../solutions/wrong/planted.rs"]
mod planted;
