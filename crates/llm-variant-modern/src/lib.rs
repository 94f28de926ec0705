//! What today's models changed about multi-head attention, in one attention: rotary positions, heads
//! that share their keys and values, a window of the last positions, a soft cap of scores, normed queries
//! and keys. Each is off by default, and with all of them off it is multi-head attention, bit for bit.
//!
//! ```text
//! q, k, v  = x·W_qkv + b_qkv                  H heads of queries, G of keys and of values, D channels each
//! q, k     = norm(q)·q_g, norm(k)·k_g         with normed queries and keys
//! q, k     = turned by their positions        with rotary
//! S_h[i,j] = q_h[i]·k_g[j] / √D               g = h / (H/G); for i − window < j ≤ i, hidden elsewhere
//! S_h[i,j] = c·tanh(S_h[i,j]/c)               with a soft cap c
//! Y_h[i]   = Σⱼ softmax(S_h[i,:])[j]·v_g[j]
//! out      = concat_h(Y_h)·W_proj + b_proj
//! ```
//!
//! | | parameters | of a position is kept |
//! |---|---|---|
//! | multi-head attention | `w_qkv [C, 3C]`, `b_qkv [3C]`, `w_proj [C, C]`, `b_proj [C]` | 2·C |
//! | this | `w_qkv [C, (H+2G)·D]`, `b_qkv [(H+2G)·D]`, `w_proj [H·D, C]`, `b_proj [C]`; `q_g [D]`, `k_g [D]` where they are normed | 2·G·D |
//!
//! ```
//! use llm_core::model::{Mlp, Norm, Positions};
//! use llm_core::{Config, TinyGPT};
//! use llm_variant_modern::Modern;
//! use std::sync::Arc;
//!
//! // A small Llama: rotary positions and no table of them, four heads of queries over two of keys.
//! let config = Config {
//!     norm: Norm::Rms,
//!     mlp: Mlp::SwiGlu,
//!     mlp_bias: false,
//!     positions: Positions::Rotary,
//!     ..Config::gpt2(256, 64, 64, 2)
//! };
//! let attention = Modern::grouped(4, 2).with_rotary(10_000.0).without_biases();
//! let model = TinyGPT::with_attention(config, Arc::new(attention), 1)?;
//! assert!(model.wpe.is_none());
//! assert_eq!(model.blocks[0].attention.get("w_qkv").unwrap().shape(), [64, (4 + 2 + 2) * 16]);
//! # Ok::<(), llm_core::Error>(())
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `grouped` | [`causal_attention_grouped`]: the part between the projections |
//! | `rotary` | the angles, computed once |
//! | `modern` | [`Modern`]: the whole behind the model's seam |
//! | `decode` | the same for the next positions of a text, from a cache |
//!
//! Reference: Su et al., "RoFormer"; Ainslie et al., "GQA: Training Generalized Multi-Query
//! Transformer Models"; Beltagy et al., "Longformer", for the window; Henry et al., "Query-Key
//! Normalization for Transformers"; Gemma Team, "Gemma 2", for the soft cap.

mod grouped;
mod rotary;

mod modern;

mod decode;

pub use grouped::{HeadShape, causal_attention_grouped};
pub use modern::Modern;
