//! rotary: heads turned by their positions.

use super::common::whole;
use crate::error::{GpuError, Result};
use crate::maker::{Made, Maker};
use crate::plan::{Kernel, Room, Use, elements};
use llm_core::kernels::rotary::{Turned, forward as turn};
use llm_core::listing::{Fact, Listed};
use llm_core::message;

const TEXT: &[&str] = &[include_str!("rotary.wgsl")];
const TURN: Kernel = Kernel::new("turn", TEXT);
const TURN_ONE: Kernel = Kernel::new("turn_one", TEXT);

/// The sizes but for the last two, and how many numbers there are.
fn sizes_of(made: &Listed) -> Result<([u32; 6], usize)> {
    let Some(Fact::Angles(angles)) = made.fact("angles") else {
        return Err(GpuError::unsaid(made.op, "angles"));
    };
    let &[b, t, width] = &made.shape[..] else { return Err(GpuError::without(made.op)) };
    let (heads, head) = (whole(made, "heads")?, whole(made, "head_dim")?);
    let n = b * t * width;
    Ok(([n, width, heads, head, angles.width() / 2, t].map(|n| n as u32), n))
}

/// Cosines and sines of T positions, `[T, 2, R/2]`: what the turn makes of pairs (1, 0).
fn table(made: &Listed, t: usize) -> Result<Vec<f32>> {
    let Some(Fact::Angles(angles)) = made.fact("angles") else {
        return Err(GpuError::unsaid(made.op, "angles"));
    };
    let width = angles.width();
    if width == 0 {
        return Err(GpuError::no(made.op, message!("of no channels")));
    }
    let pairs: Vec<f32> =
        (0..t * width).map(|i| if i % width < width / 2 { 1.0 } else { 0.0 }).collect();
    let mut table = vec![0.0; t * width];
    let start = whole(made, "start")?;
    let turned = Turned { angles, width, n_heads: 1, head_dim: width, seq_len: t, start };
    turn(&mut table, &pairs, &turned);
    Ok(table)
}

pub(super) fn forward(maker: &mut Maker<'_>, made: &Listed) -> Result<Made> {
    let ((sizes, n), x) = (sizes_of(made)?, maker.value(made, 0)?);
    let table = table(made, maker.text.map_or(made.shape[1], |text| text.context))?;
    let angles = maker.plan.room(table.len(), Use::Given(table));
    let y = maker.room(n);
    let sizes = [&sizes[..], &[1.0f32.to_bits(), 0]].concat();
    match maker.text {
        Some(text) => maker.call(TURN_ONE, &sizes, &[x, angles, y, text.place], elements(n)),
        None => maker.call(TURN, &sizes, &[x, angles, y], elements(n)),
    }
    Ok(Made { result: y, kept: vec![angles] })
}

pub(super) fn backward(m: &mut Maker<'_>, made: &Listed, dy: Room, kept: &[Room]) -> Result<()> {
    let (sizes, n) = sizes_of(made)?;
    let dx = m.target(made, 0);
    let sizes = [&sizes[..], &[(-1.0f32).to_bits(), dx.add]].concat();
    m.call(TURN, &sizes, &[dy, kept[0], dx.to], elements(n));
    Ok(())
}
