//! The kinds of models of llama.cpp that are known here.

use crate::holder::{GPT2, Holder, LLAMA};

/// What llama.cpp calls a kind of model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// Learned positions, LayerNorm, GELU.
    Gpt2,
    /// Rotary positions, RMSNorm, SwiGLU, grouped queries.
    Llama,
    /// As [`Architecture::Llama`], with normed queries and keys, and pairs that are D/2 apart.
    Qwen3,
}

impl Architecture {
    /// All that are known here.
    pub const ALL: [Self; 3] = [Architecture::Gpt2, Architecture::Llama, Architecture::Qwen3];

    /// The name in `general.architecture`, and the beginning of the family's keys.
    pub fn name(self) -> &'static str {
        match self {
            Architecture::Gpt2 => "gpt2",
            Architecture::Llama => "llama",
            Architecture::Qwen3 => "qwen3",
        }
    }

    /// The gate that a model of ours has to pass.
    pub(super) fn holder(self) -> Holder {
        match self {
            Architecture::Gpt2 => GPT2,
            Architecture::Llama => LLAMA,
            Architecture::Qwen3 => Holder { attention: QWEN3, ..LLAMA },
        }
    }
}

/// The keys of an attention of Qwen3, whose products have no biases.
const QWEN3: &[&str] =
    &["kv_heads", "head_dim", "rotary.theta", "qk_norm", "qkv_bias", "proj_bias", "head_mask"];
