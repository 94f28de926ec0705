//! Their names for our parameters, and which part of ours each of their tensors is.
//!
//! GPT-2's shapes are ours: `Conv1D` stores `[in, out]` as we do. `Linear` stores `[out, in]`: the
//! untied output head, and all matrices of Llama's blocks, are turned. Llama has queries, keys and
//! values one by one, and gate and value of the MLP: they are side by side in ours.

use super::family::Family;
use llm_core::{AttentionSpec, Config};
use std::ops::Range;

/// The output head, which has no prefix.
pub const HEAD: &str = "lm_head.weight";

/// Names within a block of GPT-2.
const BLOCK: [(&str, &str); 12] = [
    ("ln1_g", "ln_1.weight"),
    ("ln1_b", "ln_1.bias"),
    ("w_qkv", "attn.c_attn.weight"),
    ("b_qkv", "attn.c_attn.bias"),
    ("w_proj", "attn.c_proj.weight"),
    ("b_proj", "attn.c_proj.bias"),
    ("ln2_g", "ln_2.weight"),
    ("ln2_b", "ln_2.bias"),
    ("w_fc", "mlp.c_fc.weight"),
    ("b_fc", "mlp.c_fc.bias"),
    ("w_out", "mlp.c_proj.weight"),
    ("b_out", "mlp.c_proj.bias"),
];

/// Names outside the blocks.
const REST: [(&str, &str); 4] = [
    ("wte", "wte.weight"),
    ("wpe", "wpe.weight"),
    ("lnf_g", "ln_f.weight"),
    ("lnf_b", "ln_f.bias"),
];

/// Names within a block of Llama's.
const LLAMA_BLOCK: [(&str, &[&str]); 12] = [
    ("ln1_g", &["input_layernorm.weight"]),
    ("w_qkv", &["self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.weight"]),
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
];

/// Names outside the blocks of Llama's.
const LLAMA_REST: [(&str, &[&str]); 2] =
    [("wte", &["embed_tokens.weight"]), ("lnf_g", &["norm.weight"])];

/// A tensor of theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// Its name.
    pub(super) name: String,
    /// The columns of ours that it is.
    pub(super) columns: Range<usize>,
    /// Its shape.
    pub(super) shape: Vec<usize>,
    /// Its rows are our columns.
    pub(super) turned: bool,
}

/// What the tensors of a model are called, and how wide they are.
#[derive(Clone, Debug)]
pub(super) struct Names {
    family: Family,
    /// Queries, and keys or values, of all heads.
    heads: [usize; 2],
    inner: usize,
}

impl Names {
    /// Those of a model of theirs with these settings.
    pub(super) fn new(family: Family, config: &Config, attention: &AttentionSpec) -> Names {
        let c = config.d_model;
        let heads = [attention.heads_width(c), attention.cache_row(c) / 2];
        Names { family, heads, inner: config.inner() }
    }

    /// What the names of the model proper begin with, in files with the output head.
    pub(super) fn prefix(&self) -> &'static str {
        match self.family {
            Family::Gpt2 => "transformer.",
            _ => "model.",
        }
    }

    /// The token table, behind the prefix.
    pub(super) fn table(&self) -> &'static str {
        match self.family {
            Family::Gpt2 => REST[0].1,
            _ => LLAMA_REST[0].1[0],
        }
    }

    /// The tensors of which one of our parameters is made; none for one that they do not have.
    pub(super) fn sources(&self, ours: &str, shape: &[usize], prefix: &str) -> Option<Vec<Source>> {
        let columns = *shape.last()?;
        let block = ours.strip_prefix("blocks.").and_then(|rest| rest.split_once('.'));
        let of_gpt2 = |list: &[(&str, &'static str)], name: &str| {
            list.iter().find(|(ours, _)| *ours == name).map(|(_, theirs)| vec![*theirs])
        };
        let of_llama = |list: &[(&str, &[&'static str])], name: &str| {
            list.iter().find(|(ours, _)| *ours == name).map(|(_, theirs)| theirs.to_vec())
        };
        let (found, before) = match (self.family, block) {
            (_, None) if ours == "w_lm" => (Some(vec![HEAD]), String::new()),
            (Family::Gpt2, None) => (of_gpt2(&REST, ours), prefix.into()),
            (Family::Gpt2, Some((i, name))) => (of_gpt2(&BLOCK, name), format!("{prefix}h.{i}.")),
            (_, None) => (of_llama(&LLAMA_REST, ours), prefix.into()),
            (_, Some((i, name))) => (of_llama(&LLAMA_BLOCK, name), format!("{prefix}layers.{i}.")),
        };
        let found = found?;
        let [q, kv] = self.heads;
        let widths = match found.len() {
            3 => vec![q, kv, kv],
            2 => vec![self.inner; 2],
            _ => vec![columns],
        };
        let turned = match self.family {
            Family::Gpt2 => ours == "w_lm",
            _ => shape.len() > 1 && ours != "wte",
        };
        let mut first = 0;
        let source = |(name, width): (&str, usize)| {
            let columns = first..first + width;
            first += width;
            let shape = match (turned, shape) {
                (true, [rows, _]) => vec![width, *rows],
                (_, [rows, _]) => vec![*rows, width],
                _ => vec![width],
            };
            Source { name: format!("{before}{name}"), columns, shape, turned }
        };
        Some(found.into_iter().zip(widths).map(source).collect())
    }

    /// Whether it is a redundant tensor of older files. Masks, which causal attention does not
    /// need, and frequencies, which follow from the settings.
    pub(super) fn is_constant(&self, theirs: &str, prefix: &str, n_layers: usize) -> bool {
        let (blocks, known): (_, &[&str]) = match self.family {
            Family::Gpt2 => ("h.", &["attn.bias", "attn.masked_bias"]),
            _ => ("layers.", &["self_attn.rotary_emb.inv_freq"]),
        };
        let block = theirs.strip_prefix(prefix).and_then(|name| name.strip_prefix(blocks));
        let Some((i, name)) = block.and_then(|rest| rest.split_once('.')) else { return false };
        i.parse().is_ok_and(|i: usize| i < n_layers) && known.contains(&name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::model::{Mlp, Norm, Positions, parameter_shapes};
    use std::collections::BTreeSet;

    fn gpt2() -> Names {
        Names::new(Family::Gpt2, &Config::gpt2(5, 4, 2, 3), &AttentionSpec::new("multi-head", 1))
    }

    #[test]
    fn every_parameter_but_the_heads_bias_has_a_name_of_its_own() {
        let config = Config { norm_affine: true, ..Config::new(5, 4, 2, 3) };
        let shapes = parameter_shapes(&config);
        let of = |ours: &str, shape: &[usize], prefix: &str| {
            let found = gpt2().sources(ours, shape, prefix)?;
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
            name("blocks.2.w_out", gpt2().prefix()).unwrap(),
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
        let llama = Names { family: Family::Llama, ..gpt2() };
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
        let names = Names::new(Family::Qwen3, &config, &own);
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
            assert_eq!(names.sources(ours, &[8], ""), None, "{ours}");
        }
    }
}
