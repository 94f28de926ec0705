//! The choices that a model's settings offer.

use crate::base::{Message, Result, choices};
use crate::kernels::{gelu, gelu_exact, layernorm, relu2, rmsnorm, silu};
use crate::tensor::Tensor;
use crate::{message, ops};
use serde::{Deserialize, Serialize};

/// How the weights are drawn at the start. Biases are always 0, gains 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Init {
    /// Normal with standard deviation 1/√fan_in: the baseline.
    #[default]
    FanIn,
    /// GPT-2's: normal with 0.02, and 0.02/√(2L) for the two projections into the residual stream.
    Gpt2,
    /// As [`Init::FanIn`], but what is added to the residual stream starts at 0: a new block adds
    /// nothing, and every layer sees the token itself at first.
    ZeroOut,
    /// As [`Init::ZeroOut`], and an output head of its own starts at 0 too: the first loss is ln V.
    ZeroHead,
}

choices!(Init, FanIn = "fan-in", Gpt2 = "gpt2", ZeroOut = "zero-out", ZeroHead = "zero-head");

/// Which form of GELU an [`Mlp::Gelu`] has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// GELU in its tanh form, as in GPT-2: the baseline.
    #[default]
    GeluTanh,
    /// GELU as it is defined, with the error function.
    Gelu,
}

choices!(Activation, GeluTanh = "gelu_tanh", Gelu = "gelu");

/// What every norm does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Norm {
    /// Takes off the mean, divides by the standard deviation: the baseline.
    #[default]
    Layer,
    /// Divides by the root of the mean square, as Llama's models have it. With `norm_affine` it has
    /// a gain and no bias.
    Rms,
}

choices!(Norm, Layer = "layer", Rms = "rms");

/// Gain and bias of a norm, `[C]` each, where a model has them.
pub(super) type Affine<'a> = [Option<&'a Tensor>; 2];

/// A kind of norm: its equation once as an op for training, once on plain rows for a growing text.
#[derive(Debug)]
pub struct NormRow {
    /// Description in a few words.
    pub doc: &'static str,
    /// The piece of a model, for a format that cannot hold it.
    pub piece: fn() -> Message,
    /// Whether an affine one has a bias besides its gain.
    pub bias: bool,
    /// Numbers of a row that its forward leaves for its backward.
    pub(super) stats: usize,
    /// y of x, of the same shape; gain and bias, ε.
    pub(super) op: fn(&Tensor, Affine<'_>, f32) -> Result<Tensor>,
    /// [`NormRow::op`] on plain rows.
    pub(super) rows: NormRows,
}

/// y ← norm(x), with room for `stats` numbers a row; gain and bias, width, ε.
type NormRows = fn(&mut [f32], &mut [f32], &[f32], Affine<'_>, usize, f32);

impl Norm {
    /// The norm's equation and description.
    pub fn row(self) -> &'static NormRow {
        match self {
            Norm::Layer => &NormRow {
                doc: "Layer normalisation",
                piece: || message!("layer norms (layer)"),
                bias: true,
                stats: layernorm::STATS,
                op: |x, [g, b], eps| match g.zip(b) {
                    Some((g, b)) => ops::layernorm_affine_lastdim(x, g, b, eps),
                    None => ops::layernorm_lastdim(x, eps),
                },
                rows: |y, stats, x, [g, b], width, eps| {
                    let affine = g.zip(b).map(|(g, b)| (g.data(), b.data()));
                    layernorm::forward(y, stats, x, affine, width, eps);
                },
            },
            Norm::Rms => &NormRow {
                doc: "By the root of the mean square; an affine one has a gain alone",
                piece: || message!("root-mean-square norms (rms)"),
                bias: false,
                stats: rmsnorm::STATS,
                op: |x, [g, _], eps| ops::rmsnorm_lastdim(x, g, eps),
                rows: |y, stats, x, [g, _], width, eps| {
                    rmsnorm::forward(y, stats, x, g.map(Tensor::data), width, eps);
                },
            },
        }
    }
}

/// What the MLP does between its two products.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mlp {
    /// gelu(x·W_fc + b_fc), in the form that [`Config::activation`](super::Config::activation) says: the baseline.
    #[default]
    Gelu,
    /// silu(a) ∘ u, where a and u are the two halves of x·W_fc + b_fc: `w_fc` is twice as wide.
    #[serde(rename = "swiglu")]
    SwiGlu,
    /// max(x·W_fc + b_fc, 0)².
    Relu2,
}

choices!(Mlp, Gelu = "gelu", SwiGlu = "swiglu", Relu2 = "relu2");

/// A kind of MLP. With x = input·W_fc + b_fc its equation is y = act(x), once as an op for training,
/// once on plain rows for a growing text.
#[derive(Debug)]
pub struct MlpRow {
    /// Description in a few words.
    pub doc: &'static str,
    /// The piece of a model, for a format that cannot hold it.
    pub piece: fn() -> Message,
    /// Whether x has two halves, `[.., 2I]`: columns 0..I make what opens the gate, I..2I what goes
    /// through it. Otherwise x is `[.., I]`.
    pub gated: bool,
    /// y `[.., I]` of x.
    pub(super) op: fn(&Tensor, Activation) -> Result<Tensor>,
    /// y `[n, I]` ← act(x); the number is I.
    pub(super) rows: fn(&mut [f32], &[f32], usize, Activation),
}

impl Mlp {
    /// The MLP's equation and description.
    pub fn row(self) -> &'static MlpRow {
        match self {
            Mlp::Gelu => &MlpRow {
                doc: "One product, GELU",
                piece: || message!("an MLP with GELU (gelu)"),
                gated: false,
                op: |x, form| match form {
                    Activation::GeluTanh => ops::gelu(x),
                    Activation::Gelu => ops::gelu_exact(x),
                },
                rows: |y, x, _, form| match form {
                    Activation::GeluTanh => gelu::forward(y, x),
                    Activation::Gelu => gelu_exact::forward(y, x),
                },
            },
            Mlp::SwiGlu => &MlpRow {
                doc: "Two products, one the gate of the other; usually narrower, with about as many weights",
                piece: || message!("a gated MLP (swiglu)"),
                gated: true,
                op: |x, _| ops::swiglu(x),
                rows: |y, x, inner, _| silu::gate_forward(y, x, inner),
            },
            Mlp::Relu2 => &MlpRow {
                doc: "One product, the square of ReLU",
                piece: || message!("an MLP with squared ReLU (relu2)"),
                gated: false,
                op: |x, _| ops::relu2(x),
                rows: |y, x, _, _| relu2::forward(y, x),
            },
        }
    }
}

/// How a model knows the order of its tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Positions {
    /// A learned row for each position, `wpe`, is added to the token's: the baseline.
    #[default]
    Learned,
    /// No positions are given, and there is no `wpe`: what comes first shows in what causal
    /// attention may read.
    None,
    /// The attention turns queries and keys by their positions, and there is no `wpe`. Only for an
    /// attention that does so, see [`AttentionSpec::rotary`](super::AttentionSpec::rotary).
    Rotary,
}

choices!(Positions, Learned = "learned", None = "none", Rotary = "rotary");
