//! What an attention says of its heads.

use super::common::{number, whole};
use crate::error::{GpuError, Result};
use crate::maker::Maker;
use llm_core::listing::Listed;
use llm_core::message;

/// B, T, H, G, D, and how scores come about: see `Scoring` of llm-core's kernels.
pub(super) struct HeadShape {
    pub b: usize,
    pub t: usize,
    pub h: usize,
    pub g: usize,
    pub d: usize,
    pub window: usize,
    pub scale: f32,
    pub soft_cap: Option<f32>,
}

impl HeadShape {
    pub(super) fn new(maker: &Maker<'_>, made: &Listed) -> Result<HeadShape> {
        let [b, t] = maker.batch;
        if made.shape.len() != 3 || made.shape[..2] != [b, t] {
            return Err(GpuError::no(made.op, message!("of another batch")));
        }
        let (h, g, d) = (whole(made, "heads")?, whole(made, "kv_heads")?, whole(made, "head_dim")?);
        let window = whole(made, "window")?.min(maker.text.map_or(t, |text| text.context));
        let soft_cap = made.number("soft_cap").map(|c| c as f32);
        Ok(HeadShape { b, t, h, g, d, window, scale: number(made, "scale")? as f32, soft_cap })
    }
}
