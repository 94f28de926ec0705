//! The settings of a model.

use super::row::{Row, Typed, named, own, row, typed};
use crate::base::Value;
use crate::model::{Activation, Config, Init, Mlp, Norm, Positions};

named!(Init, Activation, Norm, Mlp, Positions);

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
    row!("model.activation", activation, "activation", "the form of GELU of an MLP that has it"),
    row!("model.n_inner", n_inner, "n_inner", "width of the MLP between its products; 0: the usual one, four times C or as many weights"),
    row!("model.norm", norm, "norm", "what every norm does"),
    row!("model.norm_eps", norm_eps, "norm_eps", "epsilon inside the root of every norm"),
    row!("model.mlp", mlp, "mlp", "what the MLP does between its products"),
    row!("model.mlp_bias", mlp_bias, "mlp_bias", "the products of the MLP add biases"),
    row!("model.positions", positions, "positions", "how the order of tokens is known"),
    row!("model.ngrams", ngrams, "ngrams", "each n whose n-grams have a table"),
    row!("model.ngram_rows", ngram_rows, "ngram_rows", "most rows of a table of n-grams"),
];
