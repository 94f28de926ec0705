//! The sizes and options of a model, with their limits and costs.

use super::{Activation, Init, Mlp, Norm, Positions};
use crate::base::{Error, Result};
use crate::message;
use crate::ops::NORM_EPS;
use serde::{Deserialize, Serialize};

/// What a model is, apart from its attention. The defaults of [`Config::new`] are the baseline;
/// [`Config::gpt2`] sets the options to GPT-2's.
///
/// There is no number of heads here: attention is chosen separately from the config, see
/// [`Attention`](super::Attention).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// V: number of different tokens.
    pub vocab_size: usize,
    /// T: longest context, in tokens.
    pub seq_len: usize,
    /// C: width of the residual stream.
    pub d_model: usize,
    /// L: number of blocks.
    pub n_layers: usize,
    /// Norms with gain and bias, or with the gain alone where [`Norm`] has no bias (default: without).
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
    /// Which form of GELU an MLP of that kind has.
    #[serde(default, skip_serializing_if = "is_default")]
    pub activation: Activation,
    /// Width of the MLP between its two products; 0: the usual one, see [`Config::inner`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub n_inner: usize,
    /// What every norm does.
    #[serde(default, skip_serializing_if = "is_default")]
    pub norm: Norm,
    /// ε inside the root of every norm, those of an attention included (default: [`NORM_EPS`]).
    #[serde(default = "usual_eps", skip_serializing_if = "is_usual_eps")]
    pub norm_eps: f32,
    /// What the MLP does between its two products.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mlp: Mlp,
    /// The two products of the MLP add `b_fc` and `b_out` (default: yes). An attention says by
    /// itself which biases it has.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub mlp_bias: bool,
    /// How the model knows the order of its tokens.
    #[serde(default, skip_serializing_if = "is_default")]
    pub positions: Positions,
    /// Each n whose n-grams have a table, the smallest first: the rows of the last n tokens are added
    /// to the token's (default: none).
    #[serde(default, skip_serializing_if = "is_default")]
    pub ngrams: Vec<usize>,
    /// Most rows of such a table; with more n-grams than that some share a row.
    #[serde(default = "usual_rows", skip_serializing_if = "is_usual_rows")]
    pub ngram_rows: usize,
}

const NGRAM_ROWS: usize = 1 << 14;

fn usual_rows() -> usize {
    NGRAM_ROWS
}

fn is_usual_rows(value: &usize) -> bool {
    *value == NGRAM_ROWS
}

fn usual_eps() -> f32 {
    NORM_EPS
}

fn is_usual_eps(value: &f32) -> bool {
    *value == NORM_EPS
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

/// What later settings are left out by where files are written, so that a model without them has
/// the file that it had before there were any.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The baseline for bytes: a context of 64 tokens, 64 channels, one block.
impl Default for Config {
    fn default() -> Config {
        Config::new(256, 64, 64, 1)
    }
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
            norm: Norm::Layer,
            norm_eps: NORM_EPS,
            mlp: Mlp::Gelu,
            mlp_bias: true,
            positions: Positions::Learned,
            ngrams: Vec::new(),
            ngram_rows: NGRAM_ROWS,
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

    /// I: width of the MLP between its two products: `n_inner`, or the usual one, 4·C. A gated MLP has
    /// three matrices in place of two, so its usual width is two thirds of that, in whole vectors
    /// of 16: about as many weights.
    pub fn inner(&self) -> usize {
        const VECTOR: usize = 16;
        let usual = self.d_model.saturating_mul(4);
        match (self.n_inner, self.mlp.row().gated) {
            (0, false) => usual,
            (0, true) => usual.div_ceil(3).saturating_mul(2).div_ceil(VECTOR) * VECTOR,
            (n_inner, _) => n_inner,
        }
    }

    /// Numbers that the first product of the MLP gives: I, or 2·I for a gated one.
    pub fn hidden(&self) -> usize {
        self.hidden_columns().into_iter().fold(0, usize::saturating_add)
    }

    /// The matrices of the first product side by side, by their columns: a gated MLP has two.
    pub(super) fn hidden_columns(&self) -> [usize; 3] {
        let gate = if self.mlp.row().gated { self.inner() } else { 0 };
        [self.inner(), gate, 0]
    }

    /// Whether the norms have a bias.
    pub(super) fn norm_bias(&self) -> bool {
        self.norm_affine && self.norm.row().bias
    }

    /// Validates each size's limits.
    ///
    /// # Errors
    /// [`Error::Config`] naming the field and its range.
    pub fn check(&self) -> Result<()> {
        let within = |field, value: usize, max: usize| {
            let reason = message!("{} is outside 1..={}", value, max);
            Error::unless((1..=max).contains(&value), field, reason)
        };
        within("vocab_size", self.vocab_size, Config::MAX_VOCAB)?;
        within("seq_len", self.seq_len, Config::MAX_SEQ)?;
        within("d_model", self.d_model, Config::MAX_D_MODEL)?;
        within("n_layers", self.n_layers, Config::MAX_LAYERS)?;
        let Config { n_inner, dropout, norm_eps, .. } = *self;
        let reason = message!("{} is outside 0..={}", n_inner, Config::MAX_INNER);
        Error::unless(n_inner <= Config::MAX_INNER, "n_inner", reason)?;
        let within = (0.0..1.0).contains(&dropout);
        Error::unless(within, "dropout", message!("{} is outside 0..1", dropout))?;
        let fits = norm_eps > 0.0 && norm_eps <= 1.0;
        Error::unless(fits, "norm_eps", message!("{} is not above 0, up to 1", norm_eps))?;
        self.check_ngrams()?;
        // What two say together comes last: each alone is named first.
        let fits = self.activation == Activation::default() || self.mlp == Mlp::Gelu;
        let reason = message!("a form of GELU was chosen for an MLP without GELU");
        Error::unless(fits, "activation", reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_width_of_a_gated_mlp_has_about_as_many_weights() {
        for (d_model, inner) in [(64, 176), (128, 352), (576, 1536), (768, 2048)] {
            let gated = Config { mlp: Mlp::SwiGlu, ..Config::new(1, 1, d_model, 1) };
            assert_eq!((gated.inner(), gated.hidden()), (inner, 2 * inner));
            assert!((3 * inner).abs_diff(8 * d_model) < 3 * 16);
            let narrow = Config { n_inner: 7, ..gated };
            assert_eq!((narrow.inner(), narrow.hidden()), (7, 14));
        }
        assert_eq!(Config { mlp: Mlp::Relu2, ..Config::new(1, 1, 5, 1) }.hidden(), 20);
    }

    #[test]
    fn a_form_of_gelu_is_for_an_mlp_with_gelu() {
        for mlp in [Mlp::SwiGlu, Mlp::Relu2] {
            let config = Config { mlp, ..Config::new(1, 1, 1, 1) };
            assert!(config.check().is_ok());
            let formed = Config { activation: Activation::Gelu, ..config };
            assert!(matches!(formed.check(), Err(Error::Config { field: "activation", .. })));
        }
    }

    #[test]
    fn a_root_needs_an_eps_above_zero() {
        for (norm_eps, fits) in [(1e-6, true), (1.0, true), (0.0, false), (-1e-5, false)] {
            let config = Config { norm_eps, ..Config::new(1, 1, 1, 1) };
            assert_eq!(config.check().is_ok(), fits, "{norm_eps}");
        }
        for norm_eps in [1.1, f32::NAN, f32::INFINITY] {
            let config = Config { norm_eps, ..Config::new(1, 1, 1, 1) };
            assert!(matches!(config.check(), Err(Error::Config { field: "norm_eps", .. })));
        }
    }

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
