//! The seam between the model and its attention.
//!
//! A block hands its normed stream to an [`Attention`] and adds what comes back. The attention says
//! which parameters it has, what it keeps of a position when text is written, and what a checkpoint
//! must know to make it again. So a variant is another crate with one small type, and the baseline
//! keeps reading as it does.

use super::{AttentionSpec, Config, Context, Decode, Kept, ParamList, Parameters, Positions};
use crate::base::{Error, Result};
use crate::message;
use crate::tensor::Tensor;
use std::fmt;

/// A way to do self-attention.
///
/// An attention describes itself by a [`spec`], from which sizes, parameters and memory follow. Only that and
/// [`forward`] must be written: an attention without [`decode`] of its own writes text by running
/// `forward` over everything read so far, which is right for every causal attention, and slow.
///
/// [`spec`]: Attention::spec
/// [`forward`]: Attention::forward
/// [`decode`]: Attention::decode
pub trait Attention: Send + Sync {
    /// What goes into a checkpoint, enough to make this attention again.
    fn spec(&self) -> AttentionSpec;

    /// Validates the attention against a model, once, when the model is made; by default
    /// [`AttentionSpec::check`].
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) naming the setting that does not fit, for example
    /// heads that do not divide `d_model`.
    fn check(&self, config: &Config) -> Result<()> {
        self.spec().check(config)
    }

    /// The parameters of one block's attention; by default [`AttentionSpec::parameters`]. Their names
    /// must not be those of the block's own.
    fn parameters(&self, config: &Config) -> ParamList {
        self.spec().parameters(config)
    }

    /// What a position leaves for the backward pass, for the estimate of memory; by default
    /// [`AttentionSpec::kept`].
    fn kept(&self, config: &Config) -> Kept {
        self.spec().kept(config.d_model)
    }

    /// The whole sublayer with its projections.
    ///
    /// # Shapes
    /// `x [B, T, C]` to `[B, T, C]`.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when a shape does not fit.
    fn forward(&self, x: &Tensor, p: &Parameters, ctx: &Context<'_>) -> Result<Tensor>;

    /// Numbers that [`decode`](Attention::decode) caches for each position of a block; by default C,
    /// the position's input. Keys and values are [`AttentionSpec::cache_row`].
    fn cache_row(&self, config: &Config) -> usize {
        config.d_model
    }

    /// What [`forward`](Attention::forward) does, for the next positions of a text of which earlier
    /// ones left something in the cache. By default the cache keeps the inputs of all positions, and
    /// `forward` is run over them.
    ///
    /// # Errors
    /// As [`forward`](Attention::forward).
    fn decode(&self, step: Decode<'_>) -> Result<()> {
        step.again(|x, p, ctx| self.forward(x, p, ctx))
    }
}

/// Validates a model and an attention against each other.
///
/// # Errors
/// As [`Attention::check`]; [`Error::Config`] when one wants rotary positions and the other
/// does not.
pub fn check_attention(attention: &dyn Attention, config: &Config) -> Result<()> {
    attention.check(config)?;
    let (rotary, spec) = (config.positions == Positions::Rotary, attention.spec());
    if rotary == spec.rotary.is_some() {
        return Ok(());
    }
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
