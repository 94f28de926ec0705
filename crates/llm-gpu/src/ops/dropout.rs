//! dropout, with the processor's masks to the bit; also what drops weights of P.

use super::common::rows_of;
use crate::error::{GpuError, Result};
use crate::maker::{Made, Maker};
use crate::plan::{Kernel, Room, elements};
use llm_core::listing::{Fact, Listed};
use llm_core::message;

/// The random bits, in front of kernels that read them.
pub(super) const STREAM: &str = include_str!("chacha.wgsl");
const APPLY: Kernel = Kernel::new("apply", &[STREAM, include_str!("dropout.wgsl")]);

/// Places beyond this do not fit the word that the kernel has for them.
const PLACES: u64 = 1 << 24;

/// The place of the masks that the op says, below which bits a number is dropped, and what the others are multiplied by.
pub(super) fn decided_by(made: &Listed) -> Result<[u32; 3]> {
    let Some(Fact::Masks(masks)) = made.fact("masks") else {
        return Err(GpuError::unsaid(made.op, "masks"));
    };
    let (threshold, scale, place) = masks.decided_by();
    if place >= PLACES {
        return Err(GpuError::no(made.op, message!("at such a place")));
    }
    Ok([place as u32, u32::from(threshold), scale.to_bits()])
}

/// to (+)= m ∘ x for rows of `width`, with the masks that the op says; `each` rows to a sequence.
pub(super) fn apply(
    maker: &mut Maker<'_>,
    made: &Listed,
    [x, to]: [Room; 2],
    [rows, width, each]: [usize; 3],
    add: u32,
) -> Result<()> {
    let [place, threshold, scale] = decided_by(made)?;
    let [rows_, width_, each_] = [rows, width, each].map(|n| n as u32);
    let sizes = [rows_, width_, each_, place, threshold, scale, add];
    let drawn = maker.fixed.drawn;
    maker.call(APPLY, &sizes, &[drawn, x, to], elements(rows * width.div_ceil(32)));
    Ok(())
}

pub(super) fn forward(maker: &mut Maker<'_>, made: &Listed) -> Result<Made> {
    let (x, [rows, width]) = (maker.value(made, 0)?, rows_of(&made.shape));
    let y = maker.room(rows * width);
    let each = rows / maker.batch[0];
    apply(maker, made, [x, y], [rows, width, each], 0)?;
    Ok(y.into())
}

pub(super) fn backward(m: &mut Maker<'_>, made: &Listed, dy: Room, _: &[Room]) -> Result<()> {
    let [rows, width] = rows_of(&made.shape);
    let dx = m.target(made, 0);
    let each = rows / m.batch[0];
    apply(m, made, [dy, dx.to], [rows, width, each], dx.add)
}
