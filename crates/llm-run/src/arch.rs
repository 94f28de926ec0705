//! Sets of options that have a name.

use llm_core::model::{Init, Mlp, Norm, Positions, Rotary};
use llm_core::{AttentionSpec, Config};

/// Sets of model options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arch {
    /// Plain norms, an output head of its own with a bias.
    #[default]
    Baseline,
    /// GPT-2's options.
    Gpt2,
    /// Llama's: gains alone, a gated MLP, rotary positions, no biases.
    Llama,
    /// Qwen3's: Llama's with normed queries and keys, and heads twice as wide.
    Qwen3,
}

impl Arch {
    /// Every set of options.
    pub const ALL: [Arch; 4] = [Arch::Baseline, Arch::Gpt2, Arch::Llama, Arch::Qwen3];

    /// Sets whose options every program has.
    pub const EVERYWHERE: [Arch; 2] = [Arch::Baseline, Arch::Gpt2];

    /// Name of the set.
    pub fn name(self) -> &'static str {
        match self {
            Arch::Baseline => "baseline",
            Arch::Gpt2 => "gpt2",
            Arch::Llama => "llama",
            Arch::Qwen3 => "qwen3",
        }
    }

    /// Options of the set, with a vocabulary and without sizes.
    pub fn config(self, vocab_size: usize) -> Config {
        let gpt2 = Config::gpt2(vocab_size, 1, 1, 1);
        match self {
            Arch::Baseline => Config::new(vocab_size, 1, 1, 1),
            Arch::Gpt2 => gpt2,
            Arch::Llama | Arch::Qwen3 => Config {
                init: Init::FanIn,
                norm: Norm::Rms,
                mlp: Mlp::SwiGlu,
                mlp_bias: false,
                positions: Positions::Rotary,
                ..gpt2
            },
        }
    }

    /// Attention of the set with H heads in a model of this width, without a name.
    pub fn attention(self, n_heads: usize, d_model: usize) -> AttentionSpec {
        let plain = AttentionSpec::new("", n_heads);
        let llama = |theta| AttentionSpec {
            rotary: Some(Rotary::new(theta)),
            biases: [false; 2],
            ..plain.clone()
        };
        match self {
            Arch::Baseline | Arch::Gpt2 => plain,
            Arch::Llama => llama(10_000.0),
            Arch::Qwen3 => AttentionSpec {
                // As in Qwen3-0.6B: 16 heads of 128 channels in a width of 1024.
                head_dim: d_model.checked_mul(2).and_then(|twice| twice.checked_div(n_heads)),
                qk_norm: true,
                ..llama(1_000_000.0)
            },
        }
    }
}
