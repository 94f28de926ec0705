//! attention between the projections in one call, and two back: nothing of [T, T] is stored.
//!
//! For heads of the usual widths whose weights none are dropped of; [`super::attention`] has the rest.

use super::heads::Heads;
use crate::maker::{Made, Maker};
use crate::plan::{Kernel, Room};
use llm_core::listing::Listed;

/// A text for each width of a head, since a thread has a head of that width in its registers. Two tiles
/// have 2,048 numbers, half of what every device has for a workgroup.
macro_rules! texts {
    ($($d:literal: $d4:literal, $tile:literal;)+) => {
        [$(($d, &[
            concat!("const D4: u32 = ", $d4, "u; const TILE: u32 = ", $tile, "u;\n"),
            include_str!("flash.wgsl"),
        ])),+]
    };
}

const TEXTS: [(usize, &[&str]); 9] = texts! {
    8: 2, 64;
    16: 4, 64;
    24: 6, 32;
    32: 8, 32;
    48: 12, 16;
    64: 16, 16;
    80: 20, 12;
    96: 24, 10;
    128: 32, 8;
};

/// The text for these heads, if there is one and none of their weights are dropped.
pub(super) fn text(made: &Listed, heads: &Heads) -> Option<&'static [&'static str]> {
    let of_width = TEXTS.iter().find(|(d, _)| *d == heads.d && made.fact("masks").is_none());
    of_width.map(|(_, text)| *text)
}

fn call(
    maker: &mut Maker<'_>,
    heads: &Heads,
    entry: &'static str,
    text: &'static [&'static str],
    rooms: &[Room],
    each: usize,
) {
    let Heads { b, t, h, g, window, scale, .. } = *heads;
    let sizes = [t, window, h, g].map(|n| n as u32);
    let sizes = [&sizes[..], &[scale.to_bits()]].concat();
    let grid = [t.div_ceil(64) as u32, (b * each) as u32, 1];
    maker.call(Kernel { entry, text }, &sizes, rooms, grid);
}

/// Y, and ln Σ e^s of each row.
pub(super) fn forward(
    maker: &mut Maker<'_>,
    made: &Listed,
    heads: &Heads,
    text: &'static [&'static str],
    qkv: Room,
) -> Made {
    let y = maker.room(made.shape.iter().product());
    let lse = maker.room(heads.b * heads.h * heads.t);
    call(maker, heads, "forward", text, &[qkv, y, lse], heads.h);
    Made { result: y, kept: vec![y, lse] }
}

/// dQ by queries, then dK and dV by keys.
pub(super) fn backward(
    m: &mut Maker<'_>,
    made: &Listed,
    heads: &Heads,
    text: &'static [&'static str],
    [qkv, dy]: [Room; 2],
    [y, lse]: [Room; 2],
) {
    let dqkv = m.room(made.inputs[0].shape().iter().product());
    let delta = m.room(heads.b * heads.h * heads.t);
    call(m, heads, "back_to_queries", text, &[qkv, dy, lse, dqkv, delta, y], heads.h);
    call(m, heads, "back_to_keys", text, &[qkv, dy, lse, dqkv, delta], heads.g);
    m.share(made, 0, dqkv);
}
