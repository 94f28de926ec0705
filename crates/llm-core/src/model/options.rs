//! The choices that a model's settings offer.

use serde::{Deserialize, Serialize};

/// How the weights are drawn at the start. Biases are always 0, gains 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Init {
    /// Normal with standard deviation 1/√fan_in: the baseline.
    #[default]
    FanIn,
    /// GPT-2's: normal with 0.02, and 0.02/√(2L) for the two projections into the residual stream.
    Gpt2,
}

/// Which form of GELU an [`Mlp::Gelu`] has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// GELU in its tanh form, as GPT-2 has it: the baseline.
    #[default]
    GeluTanh,
    /// GELU as it is defined, with the error function.
    Gelu,
}

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

/// How a model knows the order of its tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Positions {
    /// A learned row for each position, `wpe`, is added to the token's: the baseline.
    #[default]
    Learned,
    /// It is told none, and has no `wpe`: what comes first shows in what causal attention may read.
    None,
    /// The attention turns queries and keys by their positions, and there is no `wpe`. Only for an
    /// attention that does so, see [`Attention::is_rotary`](super::Attention::is_rotary).
    Rotary,
}
