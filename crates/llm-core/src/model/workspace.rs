//! Room for some positions of a text on their way through the model.

use super::{Activation, Config, Scratch};
use crate::kernels::gemv::MOST_GROUPS;
use crate::kernels::layernorm::STATS;

/// Room for `n` positions.
pub(crate) struct Workspace {
    /// C.
    pub d_model: usize,
    /// I.
    pub inner: usize,
    /// What the MLP does.
    pub activation: Activation,
    /// `[n, C]`: the residual stream.
    pub stream: Vec<f32>,
    /// `[n, C]`: its norm, then the heads' outputs.
    pub x: Vec<f32>,
    /// `[n, I]`.
    pub hidden: Vec<f32>,
    /// `[n, I]`.
    pub gelu: Vec<f32>,
    /// `[n, 2]`: what the norm leaves for a backward pass.
    pub stats: Vec<f32>,
    /// The attention's room, and that of products of a single position.
    pub scratch: Scratch,
    /// `[V]`.
    pub logits: Vec<f32>,
}

impl Workspace {
    pub fn new(config: &Config, n: usize) -> Workspace {
        let (c, inner) = (config.d_model, config.inner());
        let zeros = |numbers: usize| vec![0.0; numbers];
        Workspace {
            d_model: c,
            inner,
            activation: config.activation,
            stream: zeros(n * c),
            x: zeros(n * c),
            hidden: zeros(n * inner),
            gelu: zeros(n * inner),
            stats: zeros(n * STATS),
            scratch: Scratch::default(),
            logits: zeros(config.vocab_size),
        }
    }

    /// The numbers that this takes, with what the attention will ask for: a query, a key and a value
    /// for each position and a score for each head and earlier position.
    pub fn numbers(config: &Config, n: usize, n_heads: usize) -> u64 {
        let [v, t, c, n, h] =
            [config.vocab_size, config.seq_len, config.d_model, n, n_heads].map(|n| n as u64);
        let partial = (MOST_GROUPS - 1) as u64 * widest(config) as u64;
        // All but the heads are within Config's limits, so nothing overflows.
        h.saturating_mul(t)
            .saturating_add(n * (5 * c + 2 * config.inner() as u64 + STATS as u64) + v + partial)
    }
}

/// The most outputs of a product in row-major weights.
fn widest(config: &Config) -> usize {
    match config.tied_head {
        true => config.inner().max(config.d_model),
        false => config.vocab_size.max(config.inner()).max(config.d_model),
    }
}
