//! Attention as two courses write it, `skyzh/tiny-llm` and chapter 11 of Wayland Zhang's book on
//! transformers: any batch axes, any scale, any mask, any lengths.
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
//! `self_attention_mha` of llm-variant-mha is the fast case of these: causal, one packed `w_qkv`, weights `[in, out]`, nothing of P kept. Here P is written out and kept for the
//! gradient, and heads are still views: nothing is copied to bring them together.
//!
//! Nothing hides a position unless a mask says so. A query row whose every key is hidden gives
//! zeros and gets no gradient, where the equation would say 0/0.
//!
//! ```
//! use llm_core::{Tensor, ndarray::ArrayD};
//! use llm_courses::{KeepMask, MultiHeadAttention};
//!
//! let attention = MultiHeadAttention::new(8, 2, 1)?; // C = 8, H = 2, seed 1
//! let x = Tensor::new(ArrayD::ones(vec![4, 5, 8])); // [B, T, C]
//! let all = attention.attend(&x, Some(&KeepMask::causal(5, 5)?))?;
//! assert_eq!(all.weights.shape(), [4, 2, 5, 5]); // P, [B, H, T, T]
//! assert_eq!(all.concat.shape(), [4, 5, 8]); // A, before W_o
//! assert_eq!(all.output.shape(), [4, 5, 8]);
//! # Ok::<(), llm_core::Error>(())
//! ```
//!
//! Each module imports only from those above it in this list:
//!
//! | module | holds |
//! |---|---|
//! | `permute`, `softmax` | ops over any axes |
//! | `linear` | the map with A stored `[out, in]`, as a function and with its weights |
//! | `mask` | the two kinds of mask |
//! | `layout` | the lengths of one attention, and its arrays as stacks of heads |
//! | `attention` | `scaled_dot_product_attention`: the weights P, and the values weighted |
//! | `heads` | what both modules share |
//! | `simple_mha`, `multi_head_attention` | the modules of the two courses |

mod permute;
mod softmax;

mod linear;

mod mask;

mod layout;

mod attention;

mod heads;

mod multi_head_attention;
mod simple_mha;

pub use attention::scaled_dot_product_attention;
pub use heads::MultiHeadOutput;
pub use linear::{Linear, linear};
pub use mask::{AdditiveMask, KeepMask};
pub use multi_head_attention::MultiHeadAttention;
pub use permute::permute;
pub use simple_mha::SimpleMultiHeadAttention;
pub use softmax::softmax;
