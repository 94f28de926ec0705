//! Multi-head causal self-attention, in addition to llm-core's single-head baseline.
//!
//! What changes against the baseline, and what does not:
//!
//! | | single head ([`ops::self_attention_1h`]) | H heads ([`self_attention_mha`]) |
//! |---|---|---|
//! | parameters | `w_qkv [C,3C]`, `b_qkv [3C]`, `w_proj [C,C]`, `b_proj [C]` | the same four |
//! | channels of q, k, v | one vector of C | H vectors of D = C/H: head h has channels h·D..(h+1)·D |
//! | scale | 1/√C | 1/√D |
//! | weights P | `[B,T,T]` | `[B,H,T,T]` |
//! | before `w_proj` | `[B,T,C]` | `[B,T,H,D]`, read as `[B,T,C]` |
//!
//! With H = 1 the two are the same, bit for bit. The crate depends on llm-core alone and is the
//! pattern for other variants: one function for readers ([`self_attention_mha`]), one small type
//! for the model ([`MultiHead`]), tests.
//!
//! ```
//! use llm_core::{Config, TinyGPT};
//! use llm_variant_mha::MultiHead;
//! use std::sync::Arc;
//!
//! let config = Config::new(256, 64, 64, 1);
//! let model = TinyGPT::with_attention(config, Arc::new(MultiHead::new(4)), 1)?;
//! assert_eq!(model.attention().spec().n_heads, 4);
//! # Ok::<(), llm_core::Error>(())
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `heads` | [`self_attention_mha`], and [`causal_attention_heads`] between its projections |
//! | `multi_head` | [`MultiHead`]: the same behind the model's seam; [`one_or_several`] for programs with both |
//!
//! Reference: Vaswani et al., "Attention Is All You Need", 3.2.2.

mod heads;

mod multi_head;

pub use heads::{causal_attention_heads, self_attention_mha};
pub use multi_head::{MultiHead, one_or_several};

#[cfg(doc)]
use llm_core::ops;
