//! From flags to the attention that they make, and back.

use llm_cli::AttentionFlags;
use llm_core::{AttentionSpec, Tensor};
use llm_variant_modern::{Heads, Modern};

/// The attention that the flags describe.
pub(crate) fn with(flags: &AttentionFlags) -> Modern {
    let AttentionFlags { n_heads, kv_heads, window, biases: [qkv, proj], .. } = *flags;
    let mut made = Modern::grouped(n_heads, kv_heads.unwrap_or(n_heads)).with_biases(qkv, proj);
    if let Some(head_dim) = flags.head_dim {
        made = made.with_head_dim(head_dim);
    }
    if let Some(theta) = flags.rope_theta {
        made = match flags.rotary_dim {
            Some(width) => made.with_partial_rotary(theta, width),
            None => made.with_rotary(theta),
        };
    }
    if let Some(window) = window {
        made = made.with_window(window);
    }
    if flags.qk_norm { made.with_qk_norm() } else { made }
}

/// The flags that make this attention. One that is not known is described by its heads alone: it
/// was refused before.
pub(crate) fn described(spec: &AttentionSpec) -> AttentionFlags {
    let plain = AttentionFlags::new(spec.n_heads);
    let Ok(of) = Modern::from_spec(spec) else { return plain };
    AttentionFlags {
        kv_heads: Some(of.kv_heads()).filter(|g| *g != spec.n_heads),
        head_dim: of.own_head_dim(),
        rope_theta: of.theta(),
        rotary_dim: of.rotary_dim(),
        slowed: of.is_slowed(),
        window: of.window(),
        qk_norm: of.has_qk_norm(),
        biases: of.biases(),
        ..plain
    }
}

/// How multi-head attention reads qkv.
pub(crate) fn plain(qkv: &Tensor, n_heads: usize) -> Heads {
    let width = qkv.shape().last().copied().unwrap_or(0) / 3;
    let head_dim = width / n_heads.max(1);
    Heads { n_heads, kv_heads: n_heads, head_dim, window: usize::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::Attention;

    #[test]
    fn flags_come_back_from_the_attention_that_they_make() {
        let plain = AttentionFlags::new(4);
        for flags in [
            plain,
            AttentionFlags { kv_heads: Some(2), ..plain },
            AttentionFlags { head_dim: Some(6), qk_norm: true, ..plain },
            AttentionFlags { rope_theta: Some(500.0), window: Some(9), ..plain },
            AttentionFlags { rope_theta: Some(9.0), rotary_dim: Some(2), ..plain },
            AttentionFlags { biases: [true, false], ..plain },
            AttentionFlags { biases: [false, false], ..plain },
        ] {
            assert_eq!(described(&with(&flags).spec()), flags);
        }
        let all = AttentionFlags { kv_heads: Some(4), ..plain };
        assert_eq!(described(&with(&all).spec()), plain);
    }
}
