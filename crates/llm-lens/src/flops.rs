//! What attention costs: why H heads multiply as often as one, and what they do more of. What
//! learning from a token takes.

use llm_core::Config;
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
    /// Multiplications of P·V: as many.
    pub value_macs: u64,
    /// Multiplications of the four projections: 4·T·C².
    pub projection_macs: u64,
    /// Numbers that go through a softmax: H·T². This is what more heads do more of.
    pub softmax_elements: u64,
}

impl AttentionCost {
    /// Of a window of T tokens, width C and H heads, which divide C.
    pub fn new(seq_len: usize, d_model: usize, n_heads: usize) -> AttentionCost {
        let [t, c, h] = [seq_len, d_model, n_heads.max(1)].map(|n| n as u64);
        let head_dim = c / h;
        let of_one_head = t * t * head_dim;
        AttentionCost {
            n_heads: h,
            head_dim,
            score_macs: h * of_one_head,
            value_macs: h * of_one_head,
            projection_macs: 4 * t * c * c,
            softmax_elements: h * t * t,
        }
    }
}

/// Useful floating-point operations of learning from a token in windows of `seq_len`: 6 for every
/// weight of a matrix (2 forward, 4 backward), and causal attention, whose half of T² counts 3.5
/// times (forward 1, backward 2.5). What is computed again, or for nothing, does not count.
pub fn training_flops(config: &Config, seq_len: usize) -> f64 {
    let Config { n_layers, d_model, vocab_size, .. } = *config;
    let [l, c, t, v] = [n_layers, d_model, seq_len, vocab_size].map(|n| n as f64);
    let inner = config.inner() as f64;
    let matrices = l * (4.0 * c * c + 2.0 * c * inner) + v * c;
    6.0 * matrices + 3.5 * l * t * c * 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn the_largest_sizes_do_not_overflow() {
        let cost = AttentionCost::new(1 << 16, 1 << 14, 1 << 14);
        assert_eq!(cost.score_macs, 1 << 46);
    }
}
