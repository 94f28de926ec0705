//! Sums over rows, cut into chunks whose sums are added in order; the loss and the norm.

use super::common::chunk_of;
use crate::error::Result;
use crate::layout::{Layout, Spot};
use crate::maker::{Maker, OF_PARTS, Target, Waiting};
use crate::plan::{Kernel, Room, elements};
use crate::rule::SCALE;
use llm_core::listing::Listed;

const TEXT: &[&str] = &[include_str!("sums.wgsl")];
const COLUMNS: Kernel = Kernel::new("columns", TEXT);
const ADD_UP: Kernel = Kernel::new("add_up", TEXT);
/// Pieces of one call.
const PIECES: usize = 8;
/// The most numbers that wait to be added up.
pub(super) const SCRATCH: usize = 1 << 24;
const SQUARES: Kernel = Kernel::new("squares", TEXT);
const MEAN_LOSS: Kernel = Kernel::new("mean_loss", TEXT);
const ROOT: Kernel = Kernel::new("root", TEXT);
const CLIP: Kernel = Kernel::new("clip", TEXT);

/// Parts of gradients: rows of numbers, to be added up into θ's order.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    pub rows: usize,
    pub width: usize,
    /// Where the numbers go.
    pub to: Target<Spot>,
    /// Numbers of a row from which on they are another parameter's, in the same array.
    pub rest: Option<(usize, Target<Spot>)>,
}

impl Parts {
    fn piece(&self, from: usize) -> [u32; 8] {
        let (first, rest) = self.rest.unwrap_or((self.width, self.to));
        let [from, rows, width, first] = [from, self.rows, self.width, first].map(|n| n as u32);
        [from, rows, width, first, self.to.to.at, self.to.add, rest.to.at, rest.add]
    }

    /// Added up now, all of a room.
    pub(super) fn add_up(&self, maker: &mut Maker<'_>, of: Room) {
        let rooms = [of, maker.fixed.grads[self.to.to.array]];
        maker.call(OF_PARTS, &self.piece(0), &rooms, elements(self.width));
    }

    /// Room for these, and where they begin in it; they are added up later, with others in one call.
    pub(super) fn later(&self, maker: &mut Maker<'_>) -> (Room, usize) {
        let numbers = self.rows * self.width;
        let Waiting { pieces, numbers: there, array, .. } = &maker.waiting;
        let is_other = !pieces.is_empty() && *array != self.to.to.array;
        if is_other || pieces.len() == PIECES || there + numbers > SCRATCH {
            maker.add_up_waiting();
        }
        let waiting = &mut maker.waiting;
        waiting.array = self.to.to.array;
        let at = waiting.numbers;
        waiting.pieces.push(self.piece(at));
        waiting.numbers += numbers;
        waiting.widest = waiting.widest.max(self.width);
        (maker.waiting_room(), at)
    }
}

/// The gradient of the bias that is input `i` (+)= Σ over the rows of dy.
pub(super) fn columns(
    maker: &mut Maker<'_>,
    dy: Room,
    [rows, width]: [usize; 2],
    made: &Listed,
    i: usize,
) -> Result<()> {
    let chunk = chunk_of(rows);
    let chunks = rows.div_ceil(chunk);
    let of_chunks = maker.room(chunks * width);
    let sizes = [rows as u32, width as u32, chunk as u32, 0, 0];
    let grid = [width.div_ceil(64) as u32, chunks as u32, 1];
    maker.call(COLUMNS, &sizes, &[dy, of_chunks], grid);
    let bias = maker.weight_target(made, i)?;
    Parts { rows: chunks, width, to: bias, rest: None }.add_up(maker, of_chunks);
    Ok(())
}

/// The report's loss: Σ losses · share, over all micro-batches so far.
pub(super) fn loss(maker: &mut Maker<'_>, losses: Room, rows: usize) {
    let rooms = [losses, maker.fixed.share, maker.fixed.report];
    maker.call(MEAN_LOSS, &[0, rows as u32, 0, 0, 0], &rooms, [1, 1, 1]);
}

/// The step's gradient (+)= that of a micro-batch, in the order of their numbers: not the processor's
/// tree over them, so the last bits differ.
pub(crate) fn sum(maker: &mut Maker<'_>, layout: &Layout) {
    for (i, of) in layout.arrays.iter().enumerate() {
        let (n, fixed) = (of.numbers, &maker.fixed);
        let rooms = [fixed.grads[i], fixed.share, fixed.total[i]];
        maker.call(ADD_UP, &[0, n as u32, 0, 0, 0], &rooms, elements(n));
    }
}

/// What is left of the gradient, where an update reads it.
pub(crate) fn clip(maker: &mut Maker<'_>) {
    let rooms = [maker.fixed.report, maker.fixed.numbers];
    maker.call(CLIP, &[0, 0, 0, SCALE as u32, 0], &rooms, [1, 1, 1]);
}

/// The report's norm: √Σ g².
pub(crate) fn norm(maker: &mut Maker<'_>, layout: &Layout) {
    let groups = |n: usize| n.div_ceil(256).clamp(1, 256);
    let all: usize = layout.arrays.iter().map(|of| groups(of.numbers)).sum();
    let (squares, mut at) = (maker.room(all), 0);
    for (i, of) in layout.arrays.iter().enumerate() {
        let (rooms, grid) = ([maker.fixed.total[i], squares], [groups(of.numbers) as u32, 1, 1]);
        maker.call(SQUARES, &[0, of.numbers as u32, 0, at, 0], &rooms, grid);
        at += grid[0];
    }
    let sizes = [0, all as u32, 0, 0, 0];
    let rooms = [squares, maker.fixed.report, maker.fixed.share];
    maker.call(ROOT, &sizes, &rooms, [1, 1, 1]);
}
