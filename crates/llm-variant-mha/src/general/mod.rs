//! Attention as two courses write it: any batch axes, any scale, any mask, any lengths.
//!
//! | item | equation |
//! |---|---|
//! | [`linear()`], [`Linear`] | y = x·Aᵀ + b, A stored `[out, in]` |
//! | [`softmax()`], [`permute()`] | e^x / Σ e^x over any axis; the axes in another order |
//! | [`AdditiveMask`], [`KeepMask`] | a number added to each score; 0 hides, anything else keeps |
//! | [`scaled_dot_product_attention`] | softmax(Q·Kᵀ·scale + mask)·V |
//! | [`SimpleMultiHeadAttention`] | separate query, key, value; no biases |
//! | [`MultiHeadAttention`] | one x, four projections with biases |
//! | [`MultiHeadOutput`] | P, the heads side by side (A), and A·W_o + b_o |
//!
//! [`self_attention_mha`](crate::self_attention_mha) is the fast case of these: causal, one packed
//! `w_qkv`, weights `[in, out]`, nothing of P kept. Here P is written out and kept for the
//! gradient, and heads are still views: nothing is copied to bring them together.
//!
//! Nothing hides a position unless a mask says so. A query row whose every key is hidden gives
//! zeros and gets no gradient, where the equation would say 0/0.

mod attention;
mod heads;
mod layout;
mod linear;
mod mask;
mod multi_head_attention;
mod packed;
mod permute;
mod simple_mha;
mod softmax;
mod weighted_sum;
mod weights;

pub use attention::scaled_dot_product_attention;
pub use heads::MultiHeadOutput;
pub use linear::{Linear, linear};
pub use mask::{AdditiveMask, KeepMask};
pub use multi_head_attention::MultiHeadAttention;
pub use permute::permute;
pub use simple_mha::SimpleMultiHeadAttention;
pub use softmax::softmax;
