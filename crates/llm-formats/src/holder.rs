//! The gate to the models of other programs: what a kind of model does not hold is refused by its key.
//! An export is the same model, or none.

use crate::error::shown;
use crate::imported::{MODERN, SEVERAL, shortest};
use llm_core::base::Message;
use llm_core::model::{Activation, Mlp, Norm, Positions, SingleHead};
use llm_core::{Config, TinyGPT, message};

/// The names of attentions that compute what their description says.
pub(crate) const ATTENTIONS: [&str; 3] = [SingleHead::NAME, SEVERAL, MODERN];

/// A kind of model of another program, with affine norms and an output head without a bias.
pub(crate) struct Holder {
    pub(crate) norm: Norm,
    pub(crate) mlp: Mlp,
    pub(crate) positions: Positions,
    /// GELU may be the exact one, too.
    pub(crate) exact_gelu: bool,
    /// The keys of an attention that it holds, of [`AttentionSpec::only`](llm_core::AttentionSpec::only).
    pub(crate) attention: &'static [&'static str],
}

/// GPT-2. Products without biases get biases of 0, and what reads a masked head is written as 0.
pub(crate) const GPT2: Holder = Holder {
    norm: Norm::Layer,
    mlp: Mlp::Gelu,
    positions: Positions::Learned,
    exact_gelu: false,
    attention: &["qkv_bias", "proj_bias", "head_mask"],
};

/// Llama. What reads a masked head is written as 0.
pub(crate) const LLAMA: Holder = Holder {
    norm: Norm::Rms,
    mlp: Mlp::SwiGlu,
    positions: Positions::Rotary,
    exact_gelu: false,
    attention: &["kv_heads", "head_dim", "rotary.theta", "qkv_bias", "proj_bias", "head_mask"],
};

impl Holder {
    /// The settings of such a model of these sizes.
    pub(crate) fn config(&self, vocab_size: usize, context: usize, [c, l]: [usize; 2]) -> Config {
        let Holder { norm, mlp, positions, .. } = *self;
        Config { norm, mlp, positions, ..Config::gpt2(vocab_size, context, c, l) }
    }

    /// Whether it holds the model, but for the bias of its output head.
    ///
    /// # Errors
    /// In words, what it does not hold.
    pub(crate) fn check(&self, model: &TinyGPT) -> Result<(), Message> {
        let Config {
            // Sizes, and the numbers of a norm, every kind has.
            vocab_size: _,
            seq_len: _,
            d_model: _,
            n_layers: _,
            n_inner: _,
            norm_eps: _,
            // What is not there is written as what computes the same: gains of 1, biases of 0.
            norm_affine: _,
            mlp_bias: _,
            // Either is held; see `has_head_bias`.
            tied_head: _,
            head_bias: _,
            // Training alone asks for them: no file says how weights started.
            init: _,
            dropout: _,
            norm,
            mlp,
            activation,
            positions,
            ngrams,
            // Rows of the tables that `ngrams` asks for.
            ngram_rows: _,
        } = model.config();
        if *norm != self.norm {
            return Err((norm.row().piece)());
        }
        if *mlp != self.mlp {
            return Err((mlp.row().piece)());
        }
        if !ngrams.is_empty() {
            return Err(message!("tables of n-grams (ngrams)"));
        }
        if *positions != self.positions {
            return Err(match positions {
                Positions::Learned => message!("a table of positions (learned)"),
                Positions::None => message!("an order of tokens that nothing tells (none)"),
                Positions::Rotary => message!("rotary positions (rotary)"),
            });
        }
        match activation {
            Activation::GeluTanh => {}
            Activation::Gelu if self.exact_gelu => {}
            Activation::Gelu => return Err(message!("an exact GELU (gelu)")),
        }
        self.check_attention(model)
    }

    fn check_attention(&self, model: &TinyGPT) -> Result<(), Message> {
        let (config, attention) = (model.config(), model.attention());
        let spec = attention.spec();
        shortest(spec.clone(), config.d_model).only(self.attention).map_err(|key| words(&key))?;
        let described = spec.parameters(config);
        match attention.parameters(config).iter().find(|entry| !described.contains(entry)) {
            Some((name, _)) => Err(message!("attention with '{}'", shown(name))),
            None => Ok(()),
        }
    }
}

/// The key of an attention, in words.
fn words(key: &str) -> Message {
    match key {
        "kv_heads" => message!("heads that share keys and values (kv_heads)"),
        "head_dim" => message!("heads of another width than C/H (head_dim)"),
        "rotary.width" => message!("heads that are turned in part (rotary.width)"),
        "rotary.scaling.factor" => {
            message!("rotary positions that are slowed down (rotary.scaling.factor)")
        }
        "window" => message!("a window of the last positions (window)"),
        "qk_norm" => message!("normed queries and keys (qk_norm)"),
        other => message!("attention with '{}'", shown(other)),
    }
}

/// Whether the output head adds something other than 0. No kind of model of theirs has that.
pub fn has_head_bias(model: &TinyGPT) -> bool {
    model.b_lm.as_ref().is_some_and(|bias| bias.data().iter().any(|&x| x != 0.0))
}
