//! llama.cpp's names for our parameters, by architecture. Every matrix is `[out, in]` there.
//!
//! llama.cpp turns neighbours of a Llama's head as a pair, channels 2i and 2i + 1; here and in Hugging
//! Face's files a pair is i and i + D/2. So rows of queries and keys stand in another order there.

use super::architecture::Architecture;
use crate::mapping::{Mapping, Names};
use llm_core::{AttentionSpec, Config};

/// The table of positions, which llama.cpp reads as F32 whatever else a file holds.
pub(super) const POSITIONS: &str = "position_embd.weight";

const GPT2: Mapping = Mapping {
    prefix: "",
    blocks: "blk.",
    rest: &[
        ("wte", &["token_embd.weight"]),
        ("wpe", &[POSITIONS]),
        ("lnf_g", &["output_norm.weight"]),
        ("lnf_b", &["output_norm.bias"]),
    ],
    block: &[
        ("ln1_g", &["attn_norm.weight"]),
        ("ln1_b", &["attn_norm.bias"]),
        ("w_qkv", &["attn_qkv.weight"]),
        ("b_qkv", &["attn_qkv.bias"]),
        ("w_proj", &["attn_output.weight"]),
        ("b_proj", &["attn_output.bias"]),
        ("ln2_g", &["ffn_norm.weight"]),
        ("ln2_b", &["ffn_norm.bias"]),
        ("w_fc", &["ffn_up.weight"]),
        ("b_fc", &["ffn_up.bias"]),
        ("w_out", &["ffn_down.weight"]),
        ("b_out", &["ffn_down.bias"]),
    ],
    head: "output.weight",
    constants: &[],
    conv1d: false,
    neighbours: false,
};

const QWEN3: Mapping = Mapping {
    rest: &[("wte", &["token_embd.weight"]), ("lnf_g", &["output_norm.weight"])],
    block: &[
        ("ln1_g", &["attn_norm.weight"]),
        ("w_qkv", &["attn_q.weight", "attn_k.weight", "attn_v.weight"]),
        ("b_qkv", &["attn_q.bias", "attn_k.bias", "attn_v.bias"]),
        ("q_g", &["attn_q_norm.weight"]),
        ("k_g", &["attn_k_norm.weight"]),
        ("w_proj", &["attn_output.weight"]),
        ("b_proj", &["attn_output.bias"]),
        ("ln2_g", &["ffn_norm.weight"]),
        ("w_fc", &["ffn_gate.weight", "ffn_up.weight"]),
        ("b_fc", &["ffn_gate.bias", "ffn_up.bias"]),
        ("w_out", &["ffn_down.weight"]),
        ("b_out", &["ffn_down.bias"]),
    ],
    ..GPT2
};

const LLAMA: Mapping = Mapping { neighbours: true, ..QWEN3 };

impl Architecture {
    /// The names of a model with these settings.
    pub(super) fn names(self, config: &Config, attention: &AttentionSpec) -> Names {
        let map = match self {
            Architecture::Gpt2 => &GPT2,
            Architecture::Llama => &LLAMA,
            Architecture::Qwen3 => &QWEN3,
        };
        Names::new(map, self.name(), config, attention)
    }
}
