//! Parameters and memory of a model, worked out from its settings alone.

use crate::flops::AttentionCost;
use llm_core::Config;
use llm_core::model::parameter_shapes;
use serde::Serialize;

/// What there is to know about a model without running it.
#[derive(Clone, Debug, Serialize)]
pub struct ModelReport {
    /// V, T, C, L.
    pub sizes: [usize; 4],
    /// H.
    pub n_heads: usize,
    /// Heads that are switched off.
    pub heads_off: usize,
    /// Every tensor, in the model's order.
    pub tensors: Vec<TensorRow>,
    /// Numbers in all.
    pub parameters: u64,
    /// The same without biases.
    pub without_biases: u64,
    /// Weights of one block's attention: 4·C².
    pub attention_weights: u64,
    /// Its biases: 4·C.
    pub attention_biases: u64,
    /// Bytes of a training run.
    pub memory: Memory,
    /// Windows in its batches, and their length.
    pub batch: [usize; 2],
    /// One block's attention with one head, and with as many as the model has or could have.
    pub attention: Vec<AttentionCost>,
}

/// A tensor.
#[derive(Clone, Debug, Serialize)]
pub struct TensorRow {
    /// As in checkpoints.
    pub name: String,
    /// Its axes.
    pub shape: Vec<usize>,
    /// Numbers in it.
    pub count: u64,
    /// Of all parameters, 0..=1.
    pub share: f64,
}

/// Bytes that training takes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Memory {
    /// Four for each parameter.
    pub weights: u64,
    /// As many.
    pub gradients: u64,
    /// Two numbers for each parameter.
    pub moments: u64,
    /// What a batch leaves for backward, by the estimate that training is refused by.
    pub activations: u64,
}

impl Memory {
    /// Together.
    pub fn total(&self) -> u64 {
        let parts = [self.weights, self.gradients, self.moments, self.activations];
        parts.into_iter().fold(0, u64::saturating_add)
    }
}

impl ModelReport {
    /// Of a model with these settings, in training with `[B, T]` batches. `compared` is the number
    /// of heads that one head is held against.
    pub fn new(
        config: &Config,
        n_heads: usize,
        heads_off: usize,
        batch: [usize; 2],
        compared: usize,
    ) -> ModelReport {
        let parameters = config.parameter_count();
        let tensors: Vec<TensorRow> = parameter_shapes(config)
            .into_iter()
            .map(|(name, shape)| {
                let count = shape.iter().map(|&n| n as u64).product();
                let share = count as f64 / parameters.max(1) as f64;
                TensorRow { name, shape, count, share }
            })
            .collect();
        let biases: u64 = tensors.iter().filter(|t| t.is_bias()).map(|t| t.count).sum();
        let c = config.d_model as u64;
        let weights = 4 * parameters;
        let all = config.training_memory(batch[0], batch[1]);
        let cost = |heads| AttentionCost::new(batch[1], config.d_model, heads);
        let counts = if compared > 1 { vec![1, compared] } else { vec![1] };
        ModelReport {
            sizes: [config.vocab_size, config.seq_len, config.d_model, config.n_layers],
            n_heads,
            heads_off,
            without_biases: parameters - biases,
            parameters,
            attention_weights: 4 * c * c,
            attention_biases: 4 * c,
            memory: Memory {
                weights,
                gradients: weights,
                moments: 2 * weights,
                activations: all.saturating_sub(4 * weights),
            },
            batch,
            attention: counts.into_iter().map(cost).collect(),
            tensors,
        }
    }
}

impl TensorRow {
    /// Its name without the block's.
    pub fn own_name(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or(&self.name)
    }

    /// Is it added, not multiplied?
    pub fn is_bias(&self) -> bool {
        self.own_name().starts_with("b_") || self.own_name().ends_with("_b")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up() {
        for config in [Config::new(256, 64, 48, 3), Config::gpt2(50_257, 1024, 768, 12)] {
            let report = ModelReport::new(&config, 12, 0, [2, 64], 12);
            let count: u64 = report.tensors.iter().map(|t| t.count).sum();
            assert_eq!(count, config.parameter_count());
            let share: f64 = report.tensors.iter().map(|t| t.share).sum();
            assert!((share - 1.0).abs() < 1e-9);
            assert_eq!(report.memory.total(), config.training_memory(2, 64));
        }
    }

    #[test]
    fn attention_of_a_block_is_four_squares() {
        let report = ModelReport::new(&Config::gpt2(50_257, 1024, 768, 12), 12, 0, [1, 1024], 12);
        let of_block = |biases: bool| -> u64 {
            let own = ["w_qkv", "w_proj", "b_qkv", "b_proj"].map(|n| format!("blocks.3.{n}"));
            let is_one = |t: &&TensorRow| own.contains(&t.name) && t.is_bias() == biases;
            report.tensors.iter().filter(is_one).map(|t| t.count).sum()
        };
        assert_eq!((of_block(false), of_block(true)), (2_359_296, 3072));
        assert_eq!(report.attention_weights, of_block(false));
        assert_eq!(report.attention_biases, of_block(true));
        // 124,439,808, of which each block has 9·C biases and 2·C in its norms, and 2·C at the end
        // has one half.
        assert_eq!(report.parameters - report.without_biases, 12 * (9 + 2) * 768 + 768);
    }
}
