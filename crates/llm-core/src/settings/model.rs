//! The settings of a model.

use super::row::{Row, Typed, named, own, row, typed};
use crate::base::Value;
use crate::model::{Activation, Config, Init, Mlp, Norm, Positions};

named!(Init, Activation, Norm, Mlp, Positions);

/// Every field of [`Config`]. What each is for, and where a new model begins, is in its row of
/// `llm_run::settings::table`.
pub const MODEL: &[Row<Config>] = &[
    row!("model.vocab_size", vocab_size, "vocab_size"),
    row!("model.seq_len", seq_len, "seq_len"),
    row!("model.d_model", d_model, "d_model"),
    row!("model.n_layers", n_layers, "n_layers"),
    row!("model.norm_affine", norm_affine, "norm_affine"),
    row!("model.tied_head", tied_head, "tied_head"),
    row!("model.head_bias", head_bias, "head_bias"),
    row!("model.init", init, "init"),
    row!("model.dropout", dropout, "dropout"),
    row!(later "model.activation", activation, "activation"),
    row!(later "model.n_inner", n_inner, "n_inner"),
    row!(later "model.norm", norm, "norm"),
    row!(later "model.norm_eps", norm_eps, "norm_eps"),
    row!(later "model.mlp", mlp, "mlp"),
    row!(later "model.mlp_bias", mlp_bias, "mlp_bias"),
    row!(later "model.positions", positions, "positions"),
    row!(later "model.ngrams", ngrams, "ngrams"),
    row!(later "model.ngram_rows", ngram_rows, "ngram_rows"),
];
