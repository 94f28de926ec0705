//! The kinds of MLP: what a block does between its two products, a row for each.

use super::Activation;
use super::options::choices;
use crate::base::{Message, Result};
use crate::kernels::{gelu, gelu_exact, relu2, silu};
use crate::tensor::Tensor;
use crate::{message, ops};

/// The description of a kind of MLP. With `x = input·W_fc + b_fc` its equation is y = act(x), once as
/// an op for training, once on plain rows for a growing text.
#[derive(Debug)]
pub struct MlpRow {
    /// In a few words.
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

choices! {
    /// What the MLP does between its two products.
    pub enum Mlp of MlpRow {
        /// gelu(x·W_fc + b_fc), in the form that [`Config::activation`](super::Config::activation) says: the baseline.
        #[default]
        Gelu = "gelu" {
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
        /// silu(a) ∘ u, where a and u are the two halves of x·W_fc + b_fc: `w_fc` is twice as wide.
        SwiGlu = "swiglu" {
            doc: "Two products, one the gate of the other; usually narrower, with about as many weights",
            piece: || message!("a gated MLP (swiglu)"),
            gated: true,
            op: |x, _| ops::swiglu(x),
            rows: |y, x, inner, _| silu::gate_forward(y, x, inner),
        },
        /// max(x·W_fc + b_fc, 0)².
        Relu2 = "relu2" {
            doc: "One product, the square of ReLU",
            piece: || message!("an MLP with squared ReLU (relu2)"),
            gated: false,
            op: |x, _| ops::relu2(x),
            rows: |y, x, _, _| relu2::forward(y, x),
        },
    }
}
