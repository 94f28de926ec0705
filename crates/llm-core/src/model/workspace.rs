//! Room for some positions of texts on their way through the model.

use super::{Config, Scratch};
use crate::kernels::gemv::MOST_GROUPS;

/// Room for `n` positions, the last ones of `texts` texts.
pub(crate) struct Workspace {
    /// C.
    pub d_model: usize,
    /// `[n, C]`: the residual stream.
    pub stream: Vec<f32>,
    /// `[n, C]`: its norm, then the heads' outputs.
    pub x: Vec<f32>,
    /// `[n, I]`, or `[n, 2I]`: inside the MLP.
    pub hidden: Vec<f32>,
    /// `[n, I]`: what its activation makes of that.
    pub act: Vec<f32>,
    /// What the norm leaves of each row for a backward pass.
    pub stats: Vec<f32>,
    /// The attention's room, and that of products of texts' next positions.
    pub scratch: Scratch,
    /// `[texts, V]`.
    pub logits: Vec<f32>,
}

impl Workspace {
    pub fn new(config: &Config, n: usize, texts: usize) -> Workspace {
        let c = config.d_model;
        let zeros = |numbers: usize| vec![0.0; numbers];
        Workspace {
            d_model: c,
            stream: zeros(n * c),
            x: zeros(n * c),
            hidden: zeros(n * config.hidden()),
            act: zeros(n * config.inner()),
            stats: zeros(n * config.norm.row().stats),
            scratch: Scratch::default(),
            logits: zeros(texts * config.vocab_size),
        }
    }

    /// The numbers that this takes, with what the attention will ask for: a query, a key and a value
    /// for each position and a score for each head and earlier position.
    pub fn numbers(config: &Config, [n, texts]: [usize; 2], n_heads: usize) -> u64 {
        let [t, c, n, h] = [config.seq_len, config.d_model, n, n_heads].map(|n| n as u64);
        let v = (texts * config.vocab_size) as u64;
        let partial = ((MOST_GROUPS - 1) * texts) as u64 * widest(config) as u64;
        // All but the heads are within Config's limits, so nothing overflows.
        let inside = (config.hidden() + config.inner() + config.norm.row().stats) as u64;
        h.saturating_mul(t).saturating_add(n * (5 * c + inside) + v + partial)
    }
}

/// The most outputs of a product in row-major weights.
fn widest(config: &Config) -> usize {
    match config.tied_head {
        true => config.hidden().max(config.d_model),
        false => config.vocab_size.max(config.hidden()).max(config.d_model),
    }
}
