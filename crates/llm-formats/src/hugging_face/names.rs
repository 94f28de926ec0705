//! Hugging Face's names for our parameters. `Conv1D` of GPT-2 stores `[in, out]` as we do; `Linear`
//! stores `[out, in]`: the untied output head, and all matrices of Llama's blocks.

use super::family::Family;
use crate::mapping::{Mapping, Names};
use llm_core::{AttentionSpec, Config};

/// The output head, which has no prefix.
pub const HEAD: &str = "lm_head.weight";

static GPT2: Mapping = Mapping {
    prefix: "transformer.",
    blocks: "h.",
    rest: &[
        ("wte", &["wte.weight"]),
        ("wpe", &["wpe.weight"]),
        ("lnf_g", &["ln_f.weight"]),
        ("lnf_b", &["ln_f.bias"]),
    ],
    block: &[
        ("ln1_g", &["ln_1.weight"]),
        ("ln1_b", &["ln_1.bias"]),
        ("w_qkv", &["attn.c_attn.weight"]),
        ("b_qkv", &["attn.c_attn.bias"]),
        ("w_proj", &["attn.c_proj.weight"]),
        ("b_proj", &["attn.c_proj.bias"]),
        ("ln2_g", &["ln_2.weight"]),
        ("ln2_b", &["ln_2.bias"]),
        ("w_fc", &["mlp.c_fc.weight"]),
        ("b_fc", &["mlp.c_fc.bias"]),
        ("w_out", &["mlp.c_proj.weight"]),
        ("b_out", &["mlp.c_proj.bias"]),
    ],
    head: HEAD,
    // Masks, which causal attention does not need.
    constants: &["attn.bias", "attn.masked_bias"],
    conv1d: true,
    neighbours: false,
};

static LLAMA: Mapping = Mapping {
    prefix: "model.",
    blocks: "layers.",
    rest: &[("wte", &["embed_tokens.weight"]), ("lnf_g", &["norm.weight"])],
    block: &[
        ("ln1_g", &["input_layernorm.weight"]),
        (
            "w_qkv",
            &["self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.weight"],
        ),
        ("b_qkv", &["self_attn.q_proj.bias", "self_attn.k_proj.bias", "self_attn.v_proj.bias"]),
        ("q_g", &["self_attn.q_norm.weight"]),
        ("k_g", &["self_attn.k_norm.weight"]),
        ("w_proj", &["self_attn.o_proj.weight"]),
        ("b_proj", &["self_attn.o_proj.bias"]),
        ("ln2_g", &["post_attention_layernorm.weight"]),
        ("w_fc", &["mlp.gate_proj.weight", "mlp.up_proj.weight"]),
        ("b_fc", &["mlp.gate_proj.bias", "mlp.up_proj.bias"]),
        ("w_out", &["mlp.down_proj.weight"]),
        ("b_out", &["mlp.down_proj.bias"]),
    ],
    head: HEAD,
    // Frequencies, which follow from the settings.
    constants: &["self_attn.rotary_emb.inv_freq"],
    conv1d: false,
    neighbours: false,
};

impl Family {
    /// Names and layout of the tensors.
    pub(super) fn mapping(self) -> &'static Mapping {
        match self {
            Family::Gpt2 => &GPT2,
            Family::Llama | Family::Mistral | Family::Qwen2 | Family::Qwen3 => &LLAMA,
        }
    }

    /// The names of a model with these settings.
    pub(super) fn names(self, config: &Config, attention: &AttentionSpec) -> Names {
        Names::new(self.mapping(), self.classes()[0], config, attention)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::model::{Mlp, Norm, Positions, parameter_shapes};
    use std::collections::BTreeSet;

    fn gpt2() -> Names {
        Family::Gpt2.names(&Config::gpt2(5, 4, 2, 3), &AttentionSpec::new("multi-head", 1))
    }

    #[test]
    fn every_parameter_but_the_heads_bias_has_a_name_of_its_own() {
        let config = Config { norm_affine: true, ..Config::new(5, 4, 2, 3) };
        let shapes = parameter_shapes(&config);
        let of = |ours: &str, shape: &[usize], prefix: &str| {
            let found = gpt2().sources(ours, shape, prefix).ok()?;
            assert!(found.len() == 1 && found[0].columns == (0..*shape.last().unwrap()));
            assert_eq!(found[0].turned, ours == "w_lm");
            Some(found[0].name.clone())
        };
        let names: Vec<_> = shapes.iter().map(|(n, shape)| of(n, shape, "transformer.")).collect();
        let without: Vec<_> = shapes.iter().zip(&names).filter(|(_, n)| n.is_none()).collect();
        assert_eq!(without.len(), 1);
        assert_eq!(without[0].0.0, "b_lm");
        let distinct: BTreeSet<_> = names.iter().flatten().collect();
        assert_eq!(distinct.len(), names.len() - 1);
        let name = |ours: &str, prefix: &str| of(ours, &[2, 2], prefix);
        assert_eq!(
            name("blocks.2.w_out", GPT2.prefix).unwrap(),
            "transformer.h.2.mlp.c_proj.weight"
        );
        assert_eq!(name("lnf_b", "").unwrap(), "ln_f.bias");
        assert_eq!(name("blocks.2.w_lm", ""), None);
    }

    #[test]
    fn constants_are_known_and_nothing_else_is() {
        let is_mask = |name: &str, prefix: &str, n: usize| gpt2().is_constant(name, prefix, n);
        assert!(is_mask("h.0.attn.bias", "", 1));
        assert!(is_mask("transformer.h.11.attn.masked_bias", "transformer.", 12));
        for name in ["h.1.attn.bias", "h.0.attn.c_attn.bias", "h.x.attn.bias", "attn.bias", "h.0"] {
            assert!(!is_mask(name, "", 1), "{name}");
        }
        assert!(!is_mask("h.0.attn.bias", "transformer.", 1));
        let llama =
            Family::Llama.names(&Config::gpt2(5, 4, 2, 3), &AttentionSpec::new("modern", 1));
        assert!(llama.is_constant("layers.0.self_attn.rotary_emb.inv_freq", "", 1));
        assert!(!llama.is_constant("layers.0.attn.bias", "", 1));
    }

    /// Queries, keys and values side by side, then gate and value.
    #[test]
    fn parts_of_a_matrix_stand_beside_each_other() {
        let config = Config {
            norm: Norm::Rms,
            mlp: Mlp::SwiGlu,
            positions: Positions::Rotary,
            n_inner: 7,
            ..Config::gpt2(5, 4, 8, 2)
        };
        let plain = AttentionSpec::new("modern", 4);
        let own = AttentionSpec { kv_heads: Some(2), head_dim: Some(3), ..plain };
        let names = Family::Qwen3.names(&config, &own);
        let of = |ours: &str, shape: &[usize]| {
            let all = names.sources(ours, shape, "model.").unwrap().into_iter();
            all.map(|s| (s.name, s.columns, s.shape, s.turned)).collect::<Vec<_>>()
        };
        let at = |name: &str| format!("model.layers.1.{name}");
        assert_eq!(
            of("blocks.1.w_qkv", &[8, 24]),
            [
                (at("self_attn.q_proj.weight"), 0..12, vec![12, 8], true),
                (at("self_attn.k_proj.weight"), 12..18, vec![6, 8], true),
                (at("self_attn.v_proj.weight"), 18..24, vec![6, 8], true),
            ]
        );
        assert_eq!(
            of("blocks.1.b_fc", &[14]),
            [
                (at("mlp.gate_proj.bias"), 0..7, vec![7], false),
                (at("mlp.up_proj.bias"), 7..14, vec![7], false),
            ]
        );
        let table = ("model.embed_tokens.weight".to_string(), 0..8, vec![5, 8], false);
        assert_eq!(of("wte", &[5, 8]), [table]);
        assert_eq!(of("w_lm", &[8, 5]), [(HEAD.to_string(), 0..5, vec![5, 8], true)]);
        for ours in ["wpe", "lnf_b", "blocks.1.ln1_b"] {
            assert!(names.sources(ours, &[8], "").is_err(), "{ours}");
        }
    }
}
