//! GPT-2's names for our parameters. Shapes are equal, `Conv1D` stores `[in, out]` as we do, but
//! for the untied output head, which is `lm_head.weight [V, C]` there and `w_lm [C, V]` here.

/// What the names of the model proper begin with, in files of `GPT2LMHeadModel`.
pub const PREFIX: &str = "transformer.";
/// The output head, which has no prefix.
pub const HEAD: &str = "lm_head.weight";

/// Names within a block.
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

/// Their name for one of our parameters; none for `b_lm`, which GPT-2 does not have.
pub fn theirs(ours: &str, prefix: &str) -> Option<String> {
    let find = |list: &[(&str, &'static str)], name: &str| {
        list.iter().find(|(ours, _)| *ours == name).map(|(_, theirs)| *theirs)
    };
    if ours == "w_lm" {
        return Some(HEAD.into());
    }
    match ours.strip_prefix("blocks.").and_then(|rest| rest.split_once('.')) {
        Some((i, name)) => Some(format!("{prefix}h.{i}.{}", find(&BLOCK, name)?)),
        None => Some(format!("{prefix}{}", find(&REST, ours)?)),
    }
}

/// Is it one of the masks that older files hold? Causal attention needs none.
pub fn is_mask(theirs: &str, prefix: &str, n_layers: usize) -> bool {
    let block = theirs.strip_prefix(prefix).and_then(|name| name.strip_prefix("h."));
    let Some((i, name)) = block.and_then(|rest| rest.split_once('.')) else { return false };
    let known = i.parse().is_ok_and(|i: usize| i < n_layers);
    known && matches!(name, "attn.bias" | "attn.masked_bias")
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::Config;
    use llm_core::model::parameter_shapes;
    use std::collections::BTreeSet;

    #[test]
    fn every_parameter_but_the_heads_bias_has_a_name_of_its_own() {
        let config = Config { norm_affine: true, ..Config::new(5, 4, 2, 3) };
        let shapes = parameter_shapes(&config);
        let names: Vec<_> = shapes.iter().map(|(name, _)| theirs(name, PREFIX)).collect();
        let without: Vec<_> = shapes.iter().zip(&names).filter(|(_, n)| n.is_none()).collect();
        assert_eq!(without.len(), 1);
        assert_eq!(without[0].0.0, "b_lm");
        let distinct: BTreeSet<_> = names.iter().flatten().collect();
        assert_eq!(distinct.len(), names.len() - 1);
        assert_eq!(theirs("blocks.2.w_out", PREFIX).unwrap(), "transformer.h.2.mlp.c_proj.weight");
        assert_eq!(theirs("lnf_b", "").unwrap(), "ln_f.bias");
        assert_eq!(theirs("blocks.2.w_lm", ""), None);
    }

    #[test]
    fn masks_are_known_and_nothing_else_is() {
        assert!(is_mask("h.0.attn.bias", "", 1));
        assert!(is_mask("transformer.h.11.attn.masked_bias", PREFIX, 12));
        for name in ["h.1.attn.bias", "h.0.attn.c_attn.bias", "h.x.attn.bias", "attn.bias", "h.0"] {
            assert!(!is_mask(name, "", 1), "{name}");
        }
        assert!(!is_mask("h.0.attn.bias", PREFIX, 1));
    }
}
