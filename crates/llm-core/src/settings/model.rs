//! The settings of a model.

use super::row::{Row, Typed, named, own, row, typed};
use crate::base::Value;
use crate::model::{Activation, Config, Init};

named!(Init, "'fan-in' or 'gpt2'", FanIn = "fan-in", Gpt2 = "gpt2");

named!(Activation, "'gelu_tanh' or 'gelu'", GeluTanh = "gelu_tanh", Gelu = "gelu");

/// Every field of [`Config`].
#[rustfmt::skip]
pub const MODEL: &[Row<Config>] = &[
    row!("model.vocab_size", vocab_size, "vocab_size", "V: number of different tokens"),
    row!("model.seq_len", seq_len, "seq_len", "T: longest context, in tokens"),
    row!("model.d_model", d_model, "d_model", "C: width of the residual stream"),
    row!("model.n_layers", n_layers, "n_layers", "L: number of blocks"),
    row!("model.norm_affine", norm_affine, "norm_affine", "norms have a gain and a bias"),
    row!("model.tied_head", tied_head, "tied_head", "the output head uses the token table transposed"),
    row!("model.head_bias", head_bias, "head_bias", "the output head adds a bias"),
    row!("model.init", init, "init", "how weights start"),
    row!("model.dropout", dropout, "dropout", "probability that a number is dropped in training"),
    row!("model.activation", activation, "activation", "what the MLP does between its products"),
    row!("model.n_inner", n_inner, "n_inner", "width of the MLP between its products; 0: four times C"),
];

/// Those that came after the first files of format 2: written only where they are not the default,
/// so that a model without them has the file that it had, and older programs read it.
pub(super) const LATER: [&str; 2] = ["model.activation", "model.n_inner"];
