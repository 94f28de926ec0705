//! Causal attention of one head in one sequence: every variant calls it once per (sequence, head).
//!
//! S = Q·Kᵀ·scale,  P = softmax over j ≤ i of S,  Y = P·V
//!
//! A head is three views `[T, D]` into the projected `qkv`: rows may lie far apart, the D columns
//! lie together. Queries are taken in blocks of `BLOCK` rows, and keys after a block's last row
//! are never touched, so about half of the T² products are skipped. What is kept for backward is
//! one number a row, ln Σ eˢ, from which P is made again.
//!
//! Three things may be otherwise: a query may see a window of the last positions alone, scores may
//! have a soft cap (both [`Scoring`]), and several heads of queries may read the same keys and values
//! ([`each_group`], [`Accumulate`]).
//!
//! Reference: Vaswani et al., "Attention Is All You Need", 3.2.1; Dao et al., "FlashAttention",
//! for keeping ln Σ eˢ in place of P.

mod scoring;

mod causal;
mod decode;
mod turned;
mod views;

pub use causal::{Accumulate, Head, HeadGradients, HeadOutput, backward, forward, probs};
pub use decode::attend_one;
pub use scoring::Scoring;
pub use views::{
    each_group, each_head, head_view, head_views, head_views_mut, qkv_views_mut, row_views_mut,
};

/// Query rows handled together.
const BLOCK: usize = 64;

/// What a hidden score is set to before softmax where scores are written out ([`probs`], the naive
/// twin). The fast kernel skips hidden positions instead; e⁻¹⁰⁰⁰⁰⁰⁰⁰⁰⁰ is 0 either way.
pub const MASKED: f32 = -1e9;

#[cfg(test)]
mod tests;
