//! cross_entropy: the loss, where the way back begins.

use super::common::{LOSS, ROW_SUMS, rows_of};
use super::sums;
use crate::error::{GpuError, Result};
use crate::maker::{Made, Maker};
use crate::plan::{Kernel, Room, rows};
use llm_core::listing::Listed;
use llm_core::message;

const TEXT: &[&str] = &[ROW_SUMS, include_str!("cross_entropy.wgsl")];
pub(super) const FORWARD: Kernel = Kernel::new("forward", TEXT);
pub(super) const BACKWARD: Kernel = Kernel::new("backward", TEXT);
pub(super) const SCORE: Kernel = Kernel::new("score", TEXT);

/// The logits, their rows and how long one is.
fn logits_of(maker: &Maker<'_>, made: &Listed) -> Result<(Room, [usize; 2])> {
    let (logits, [n, v]) = (maker.value(made, 0)?, rows_of(made.inputs[0].shape()));
    check(maker, n).map(|()| (logits, [n, v]))
}

/// Refuses a loss over other rows than the batch's.
pub(super) fn check(maker: &Maker<'_>, rows: usize) -> Result<()> {
    match rows == maker.batch[0] * maker.batch[1] {
        true => Ok(()),
        false => Err(GpuError::no(LOSS, message!("for other rows than the batch's tokens"))),
    }
}

/// The sizes of a call over all rows.
fn sizes(n: usize, v: usize) -> [u32; 4] {
    [n, v, 0, n].map(|n| n as u32)
}

/// The loss of each place, and whether its target is the first choice, into the report.
pub(crate) fn score(maker: &mut Maker<'_>, made: &Listed) -> Result<()> {
    let (logits, [n, v]) = logits_of(maker, made)?;
    let rooms = [logits, maker.fixed.targets, maker.fixed.report];
    maker.call(SCORE, &sizes(n, v), &rooms, rows(n));
    Ok(())
}

pub(super) fn forward(maker: &mut Maker<'_>, made: &Listed) -> Result<Made> {
    let (logits, [n, v]) = logits_of(maker, made)?;
    let (stats, losses) = (maker.room(2 * n), maker.room(n));
    let rooms = [logits, maker.fixed.targets, stats, losses];
    maker.call(FORWARD, &sizes(n, v), &rooms, rows(n));
    sums::loss(maker, losses, n);
    Ok(Made { result: maker.fixed.report, kept: vec![stats] })
}

/// dL/dL is 1, so there is no dy to read. The gradient takes the logits' own place, if a product made them
/// and nothing else uses them.
pub(super) fn backward(m: &mut Maker<'_>, made: &Listed, _: Room, kept: &[Room]) -> Result<()> {
    let (logits, [n, v]) = (m.value(made, 0)?, rows_of(made.inputs[0].shape()));
    // A product's way back does not read what it made, as another op's may; a reshape makes nothing.
    let mut scores = m.maker_of(made, 0);
    while let Some(view) = scores.filter(|of| of.op == "reshape" && m.only_user(of).is_some()) {
        scores = m.maker_of(view, 0);
    }
    let alone = scores.is_some_and(|of| of.op == "linear" && m.only_user(of).is_some());
    let both = if alone { logits } else { m.copy_of(logits, n * v) };
    m.call(BACKWARD, &sizes(n, v), &[both, m.fixed.targets, kept[0], m.fixed.share], rows(n));
    m.share(made, 0, both);
    Ok(())
}
