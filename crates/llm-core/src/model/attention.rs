//! The seam between the model and its attention.
//!
//! A block hands its normed stream to an [`Attention`] and adds what comes back. The attention says
//! which parameters it has, what it keeps of a position when text is written, and what a checkpoint
//! must know to make it again. So a variant is another crate with one small type, and the baseline
//! keeps reading as it does.

use super::{Config, Context, Decode, ParamList, Parameters, Positions, standard_parameters};
use crate::base::{Error, Result, Settings};
use crate::message;
use crate::tensor::Tensor;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a checkpoint says about a model's attention. Shapes do not tell one head from several, so
/// without this a multi-head model would load as single-head and compute something else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttentionSpec {
    /// `single-head`, `multi-head`, or what an own attention calls itself.
    pub name: String,
    /// H.
    pub n_heads: usize,
    /// For each layer and head (`[L·H]`, layer by layer) whether the head is used; empty: all are.
    pub head_mask: Vec<bool>,
    /// What else it needs to be made again, under keys that only it reads; at most 4 KiB. Empty for
    /// one head and for several.
    #[serde(default, skip_serializing_if = "Settings::is_empty")]
    pub settings: Settings,
}

impl AttentionSpec {
    /// An attention of this name with H heads, all of them used, and no settings of its own.
    pub fn new(name: impl Into<String>, n_heads: usize) -> AttentionSpec {
        let (name, head_mask, settings) = (name.into(), Vec::new(), Settings::default());
        AttentionSpec { name, n_heads, head_mask, settings }
    }
}

/// A way to do self-attention.
///
/// It says which parameters it has and reads them by their names. Only [`spec`], [`check`] and
/// [`forward`] must be written: an attention without [`decode`] of its own writes text by running
/// `forward` over everything read so far, which is right for every causal attention, and slow.
///
/// [`spec`]: Attention::spec
/// [`check`]: Attention::check
/// [`forward`]: Attention::forward
/// [`decode`]: Attention::decode
pub trait Attention: Send + Sync {
    /// What goes into a checkpoint, enough to make this attention again.
    fn spec(&self) -> AttentionSpec;

    /// Does it fit the model? Called once, when the model is made.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) naming the setting that does not fit, for example
    /// heads that do not divide `d_model`.
    fn check(&self, config: &Config) -> Result<()>;

    /// Does it turn queries and keys by their positions? A model with
    /// [`Positions::Rotary`](super::Positions::Rotary) wants one that does, and every other one that
    /// does not: order would be told twice.
    fn is_rotary(&self) -> bool {
        false
    }

    /// Channels of a head, D; C/H unless said otherwise.
    fn head_dim(&self, config: &Config) -> usize {
        config.d_model / self.spec().n_heads.max(1)
    }

    /// The parameters of one block's attention; unless said otherwise those of single-head and
    /// multi-head attention, see [`standard_parameters`]. Their names must not be those of the
    /// block's own.
    fn parameters(&self, config: &Config) -> ParamList {
        standard_parameters(config)
    }

    /// The whole sublayer with its projections.
    ///
    /// # Shapes
    /// `x [B, T, C]` to `[B, T, C]`.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when a shape does not fit.
    fn forward(&self, x: &Tensor, p: &Parameters, ctx: &Context<'_>) -> Result<Tensor>;

    /// Numbers that [`decode`](Attention::decode) keeps for each position of a block; C unless said
    /// otherwise.
    fn cache_row(&self, config: &Config) -> usize {
        config.d_model
    }

    /// What [`forward`](Attention::forward) does, for the next positions of a text of which earlier
    /// ones left something in the cache. Unless said otherwise the cache keeps the inputs of all
    /// positions, and `forward` is run over them.
    ///
    /// # Errors
    /// As [`forward`](Attention::forward).
    fn decode(&self, step: Decode<'_>) -> Result<()> {
        step.again(|x, p, ctx| self.forward(x, p, ctx))
    }
}

/// Do a model and an attention fit each other?
///
/// # Errors
/// Those of [`Attention::check`]; [`Error::Config`] when one wants rotary positions and the other
/// does not.
pub fn check_attention(attention: &dyn Attention, config: &Config) -> Result<()> {
    attention.check(config)?;
    let rotary = config.positions == Positions::Rotary;
    if rotary == attention.is_rotary() {
        return Ok(());
    }
    let spec = attention.spec();
    let name = spec.name.escape_default();
    let reason = match rotary {
        true => {
            message!("'{}' attention does not turn its heads, so positions cannot be rotary", name)
        }
        false => message!(
            "'{}' attention turns its heads by their positions, so positions have to be rotary",
            name
        ),
    };
    Err(Error::config("positions", reason))
}

impl fmt::Debug for dyn Attention + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spec().fmt(f)
    }
}
