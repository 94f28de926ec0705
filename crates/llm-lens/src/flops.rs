//! What attention costs: why H heads multiply as often as one, and what they do more of. What
//! learning from a token takes.

use llm_core::model::Footprint;
use llm_core::{AttentionSpec, Config};
use serde::Serialize;

/// Work of one block's attention on one window, counted over the whole `[T, T]` square (our kernels
/// skip the hidden half).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AttentionCost {
    /// H.
    pub n_heads: u64,
    /// D = C/H.
    pub head_dim: u64,
    /// Multiplications of Q·Kᵀ: H·(T²·D) = T²·C, whatever H is.
    pub score_macs: u64,
    /// Multiplications of P·V: T²·C as well.
    pub value_macs: u64,
    /// Multiplications of the four projections: 4·T·C².
    pub projection_macs: u64,
    /// Numbers that go through a softmax: H·T². This is what more heads do more of.
    pub softmax_elements: u64,
}

impl AttentionCost {
    /// The cost in a window of T tokens, at width C and with H heads, which divide C.
    pub fn new(seq_len: usize, d_model: usize, n_heads: usize) -> AttentionCost {
        let head_dim = AttentionSpec::new("", n_heads).head_dim(d_model) as u64;
        let [t, c, h] = [seq_len, d_model, n_heads.max(1)].map(|n| n as u64);
        let square = t.saturating_mul(t);
        let products = square.saturating_mul(head_dim).saturating_mul(h);
        AttentionCost {
            n_heads: h,
            head_dim,
            score_macs: products,
            value_macs: products,
            projection_macs: t.saturating_mul(c).saturating_mul(c).saturating_mul(4),
            softmax_elements: square.saturating_mul(h),
        }
    }
}

/// Useful floating-point operations of learning from a token in windows of `seq_len`: 6 for every
/// weight of a matrix (2 forward, 4 backward), and causal attention over the whole text before a
/// position, whose half of T² counts 3.5 times (forward 1, backward 2.5). What is computed again, or for
/// nothing, does not count.
pub fn training_flops(of: &Footprint<'_>, seq_len: usize) -> f64 {
    let Config { n_layers, d_model, vocab_size, .. } = *of.config;
    let [l, c, t, v] = [n_layers, d_model, seq_len, vocab_size].map(|n| n as f64);
    let matrices = of.attention.iter().filter(|(_, p)| p.shape.len() == 2);
    let own: f64 = matrices.map(|(_, p)| p.numel() as f64).sum();
    let heads = of.kept.heads as f64; // H·D
    let mlp = c * (of.config.hidden() + of.config.inner()) as f64;
    6.0 * (l * (own + mlp) + v * c) + 3.5 * l * t * heads * 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::model::{Mlp, SingleHead};

    #[test]
    fn heads_multiply_as_often_as_one_and_take_more_softmaxes() {
        let [one, eight] = [1, 8].map(|heads| AttentionCost::new(16, 512, heads));
        assert_eq!(one.score_macs, 131_072);
        assert_eq!(eight.score_macs, 8 * (16 * 16 * 64));
        assert_eq!(eight.score_macs, one.score_macs);
        assert_eq!(eight.value_macs, one.value_macs);
        assert_eq!(eight.projection_macs, one.projection_macs);
        assert_eq!((one.softmax_elements, eight.softmax_elements), (256, 2048));
        assert_eq!((one.head_dim, eight.head_dim), (512, 64));
    }

    /// Shared keys and a gate change the count by their matrices, and heads wider than C/H by theirs.
    #[test]
    fn what_an_attention_and_an_mlp_have_is_what_is_counted() {
        let config = Config::new(10, 16, 8, 1);
        let flops = |config: &Config, spec: &AttentionSpec| {
            let (attention, kept) = (spec.parameters(config), spec.kept(config.d_model));
            let of = Footprint { attention, kept, ..Footprint::new(config, &SingleHead) };
            training_flops(&of, 16)
        };
        let plain = AttentionSpec::new("plain", 2);
        let usual = flops(&config, &plain);
        assert_eq!(usual, training_flops(&Footprint::new(&config, &SingleHead), 16));
        let shared = AttentionSpec { kv_heads: Some(1), ..plain.clone() };
        assert_eq!(usual - flops(&config, &shared), 6.0 * 8.0 * 8.0);
        // Twice as wide: 24 more columns, 8 more rows, twice the sums over positions.
        let wide = AttentionSpec { head_dim: Some(8), ..plain.clone() };
        assert_eq!(flops(&config, &wide) - usual, 6.0 * 8.0 * 32.0 + 7.0 * 16.0 * 8.0);
        let gated = Config { mlp: Mlp::SwiGlu, n_inner: 32, ..config.clone() };
        assert_eq!(flops(&gated, &plain) - usual, 6.0 * 8.0 * 32.0);
    }

    #[test]
    fn the_largest_sizes_do_not_overflow() {
        let cost = AttentionCost::new(1 << 16, 1 << 14, 1 << 14);
        assert_eq!(cost.score_macs, 1 << 46);
    }
}
