//! The sizes and options of a model, with their limits and costs.

use crate::base::{Error, Result};
use serde::{Deserialize, Serialize};

/// ε inside the root of every norm.
pub const NORM_EPS: f32 = 1e-5;

/// How the weights are drawn at the start. Biases are always 0, gains 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Init {
    /// Normal with standard deviation 1/√fan_in: the baseline.
    #[default]
    FanIn,
    /// GPT-2's: normal with 0.02, and 0.02/√(2L) for the two projections into the residual stream.
    Gpt2,
}

/// What the MLP does between its two products.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// GELU in its tanh form, as GPT-2 has it: the baseline.
    #[default]
    GeluTanh,
    /// GELU as it is defined, with the error function.
    Gelu,
}

/// What a model is, apart from its attention. The defaults of [`Config::new`] are the baseline;
/// [`Config::gpt2`] sets the options to GPT-2's.
///
/// There is no number of heads here: attention is chosen beside the config, see
/// [`Attention`](super::Attention).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// V: number of different tokens.
    pub vocab_size: usize,
    /// T: longest context, in tokens.
    pub seq_len: usize,
    /// C: width of the residual stream.
    pub d_model: usize,
    /// L: number of blocks.
    pub n_layers: usize,
    /// Norms with gain and bias (default: without).
    pub norm_affine: bool,
    /// The output head uses `wte` transposed (default: its own `w_lm`).
    pub tied_head: bool,
    /// The output head adds `b_lm` (default: yes).
    pub head_bias: bool,
    /// How weights start.
    pub init: Init,
    /// Probability that a number is dropped in training: of the embeddings, of the attention's
    /// weights, and of what attention and MLP add to the stream. 0: none.
    pub dropout: f32,
    /// What the MLP does between its two products.
    #[serde(default, skip_serializing_if = "is_default")]
    pub activation: Activation,
    /// Width of the MLP between its two products; 0: four times `d_model`. See [`Config::inner`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub n_inner: usize,
}

/// What later settings are left out by where files are written, so that a model without them has
/// the file that it had before there were any.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Config {
    /// Largest vocabulary.
    pub const MAX_VOCAB: usize = 1 << 20;
    /// Longest context.
    pub const MAX_SEQ: usize = 1 << 16;
    /// Widest model.
    pub const MAX_D_MODEL: usize = 1 << 14;
    /// Deepest model.
    pub const MAX_LAYERS: usize = 512;
    /// Widest MLP.
    pub const MAX_INNER: usize = 4 * Config::MAX_D_MODEL;
    /// Most parameters.
    pub const MAX_PARAMETERS: u64 = 1 << 33;

    /// The baseline with these sizes.
    pub fn new(vocab_size: usize, seq_len: usize, d_model: usize, n_layers: usize) -> Config {
        Config {
            vocab_size,
            seq_len,
            d_model,
            n_layers,
            norm_affine: false,
            tied_head: false,
            head_bias: true,
            init: Init::FanIn,
            dropout: 0.0,
            activation: Activation::GeluTanh,
            n_inner: 0,
        }
    }

    /// GPT-2's options with these sizes: affine norms, tied head without bias, its initialisation.
    pub fn gpt2(vocab_size: usize, seq_len: usize, d_model: usize, n_layers: usize) -> Config {
        Config {
            norm_affine: true,
            tied_head: true,
            head_bias: false,
            init: Init::Gpt2,
            ..Config::new(vocab_size, seq_len, d_model, n_layers)
        }
    }

    /// I: width of the MLP between its two products.
    pub fn inner(&self) -> usize {
        if self.n_inner == 0 { self.d_model.saturating_mul(4) } else { self.n_inner }
    }

    /// Validates each size's limits.
    ///
    /// # Errors
    /// [`Error::Config`] naming the field and its range.
    pub fn check(&self) -> Result<()> {
        let within = |field, value: usize, max: usize| match value {
            v if v >= 1 && v <= max => Ok(()),
            v => Err(Error::config(field, format!("{v} is outside 1..={max}"))),
        };
        within("vocab_size", self.vocab_size, Config::MAX_VOCAB)?;
        within("seq_len", self.seq_len, Config::MAX_SEQ)?;
        within("d_model", self.d_model, Config::MAX_D_MODEL)?;
        within("n_layers", self.n_layers, Config::MAX_LAYERS)?;
        if self.n_inner > Config::MAX_INNER {
            let reason = format!("{} is outside 0..={}", self.n_inner, Config::MAX_INNER);
            return Err(Error::config("n_inner", reason));
        }
        match self.dropout {
            p if (0.0..1.0).contains(&p) => Ok(()),
            p => Err(Error::config("dropout", format!("{p} is outside 0..1"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_hold_at_their_edges() {
        let ok = Config::new(1 << 20, 1 << 16, 1 << 14, 512);
        assert!(ok.check().is_ok());
        for (v, t, c, l) in [(0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 0, 1), (1, 1, 1, 0)] {
            assert!(Config::new(v, t, c, l).check().is_err());
            let over = Config::new(
                if v == 0 { (1 << 20) + 1 } else { 1 },
                if t == 0 { (1 << 16) + 1 } else { 1 },
                if c == 0 { (1 << 14) + 1 } else { 1 },
                if l == 0 { 513 } else { 1 },
            );
            assert!(matches!(over.check(), Err(Error::Config { .. })));
        }
    }
}
