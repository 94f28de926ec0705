//! attention of one query, which joins what was kept of those before it.

use super::common::ROW_SUMS;
use super::head_shape::HeadShape;
use crate::maker::{Growing, Maker};
use crate::plan::{Kernel, Room, Use};

const TEXT: &[&str] = &[ROW_SUMS, include_str!("step.wgsl")];
const JOIN: Kernel = Kernel::new("join", TEXT);
const STEP: Kernel = Kernel::new("step", TEXT);

/// Y of the query whose q, k and v these are.
pub(super) fn step(maker: &mut Maker<'_>, heads: &HeadShape, of: &Growing, qkv: Room) -> Room {
    let HeadShape { h, g, d, window, scale, soft_cap, .. } = *heads;
    let cache = maker.plan.room(of.context * 2 * g * d, Use::Kept);
    let (weights, y) = (maker.room(h * of.context), maker.room(h * d));
    let sizes = [of.context, window, h, g, d].map(|n| n as u32);
    let sizes = [&sizes[..], &[scale, soft_cap.unwrap_or(0.0)].map(f32::to_bits)].concat();
    let row = (2 * g * d).div_ceil(64) as u32;
    maker.call(JOIN, &sizes, &[qkv, of.place, cache], [row, 1, 1]);
    maker.call(STEP, &sizes, &[qkv, of.place, cache, weights, y], [h as u32, 1, 1]);
    y
}
