//! The tests of the exercises. `cargo test e1`, `cargo test linear`: those of one.
//!
//! They know the usual mistakes and what each of them gives, and say so. Whoever wants to find the way alone reads the message
//! of a test and not its source: `library.rs` has the equations in it.

mod check;
mod library;
mod numbers;

mod e1_linear;
mod e2_scores;
mod e3_mask;
mod e4_softmax;
mod e5_split;
mod e6_multi_head;
mod e7_backward;
mod e8_switch_off;
mod e9_cache;
mod m1_rotary;
mod m2_groups;
mod p1_patch;
mod t1_adapter;
mod t2_rewards;
