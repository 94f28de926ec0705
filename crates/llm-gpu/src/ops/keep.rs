//! Heads that are switched off: what they say is 0, and no gradient comes to them.

use crate::error::{GpuError, Result};
use crate::maker::Maker;
use crate::plan::{Kernel, Room, elements};
use llm_core::listing::{Fact, Listed};
use llm_core::message;

const KEEP: Kernel = Kernel::new("keep", &[include_str!("keep.wgsl")]);
/// The most heads that a call can know of.
const HEADS: usize = 128;

/// The room's heads `[B, T, H·D]`, of which those that are switched off are made 0, if there are any: in their place, or in a
/// room of their own.
pub(super) fn keep(maker: &mut Maker<'_>, made: &Listed, of: Room, in_place: bool) -> Result<Room> {
    let Some(Fact::Flags(flags)) = made.fact("keep") else { return Ok(of) };
    if flags.len() > HEADS {
        return Err(GpuError::no(
            made.op,
            message!("with so many heads, some of them switched off"),
        ));
    }
    let (n, width) = (made.shape.iter().product(), made.shape.last().copied().unwrap_or(1));
    let room = if in_place { of } else { maker.copy_of(of, n) };
    let mut sizes = vec![n as u32, width as u32, (width / flags.len().max(1)) as u32, 0];
    let word = |heads: &[bool]| (0..).zip(heads).map(|(i, on)| u32::from(*on) << i).sum();
    sizes.extend(flags.chunks(32).map(word).chain([0; 4]).take(4));
    maker.call(KEEP, &sizes, &[room], elements(n));
    Ok(room)
}
