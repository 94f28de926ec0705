//! The baseline's attention.

use super::{Attention, AttentionSpec, Config, Context, Decode, Parameters, Position};
use crate::base::{Error, Result};
use crate::kernels::attention as kernel;
use crate::message;
use crate::ops::{self, AttentionParams};
use crate::tensor::Tensor;

/// The baseline: one head over all channels.
#[derive(Clone, Copy, Debug, Default)]
pub struct SingleHead;

impl SingleHead {
    /// The name in [`AttentionSpec`].
    pub const NAME: &'static str = "single-head";

    /// Makes it again from what a checkpoint says.
    ///
    /// # Errors
    /// [`Error::Config`] when the spec describes another attention.
    pub fn from_spec(spec: &AttentionSpec) -> Result<SingleHead> {
        if *spec == SingleHead.spec() {
            return Ok(SingleHead);
        }
        let (name, n) = (&spec.name, spec.n_heads);
        let reason = match spec.head_mask.is_empty() {
            true => message!(
                "this is a {} model with {} heads, single-head attention would compute something \
                 else",
                name,
                n
            ),
            false => message!(
                "this is a {} model with {} heads, some switched off, single-head attention would \
                 compute something else",
                name,
                n
            ),
        };
        Err(Error::config("attention", reason))
    }
}

impl Attention for SingleHead {
    fn spec(&self) -> AttentionSpec {
        AttentionSpec::new(SingleHead::NAME, 1)
    }

    fn forward(&self, x: &Tensor, p: &Parameters, ctx: &Context<'_>) -> Result<Tensor> {
        let AttentionParams { w_qkv, b_qkv, w_proj, b_proj } = p.standard()?;
        ops::self_attention_1h(x, w_qkv, b_qkv, w_proj, b_proj, ctx)
    }

    fn cache_row(&self, config: &Config) -> usize {
        self.spec().cache_row(config.d_model)
    }

    fn decode(&self, step: Decode<'_>) -> Result<()> {
        step.with_keys_and_values(1, |Position { q, keys, values, scores, y }| {
            kernel::attend_one(q, keys, values, kernel::Scoring::new(q.len()), scores, y);
        })
    }
}
