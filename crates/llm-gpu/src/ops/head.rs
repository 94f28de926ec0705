//! The last product and the loss in pieces of rows, where the scores of all of them are too large an array: a piece's
//! scores are made, and their loss; the gradient takes their place, and goes on to x, W and b at once.

use super::common::LOSS;
use super::cross_entropy::{BACKWARD, FORWARD, SCORE, check};
use super::layer::Linear;
use super::sums;
use crate::error::Result;
use crate::maker::Maker;
use crate::plan::{Room, rows};
use llm_core::listing::Listed;

/// The losses of the rows, where the loss alone reads a product's result and that would be too large; all of it is then done.
pub(super) fn in_pieces(
    maker: &mut Maker<'_>,
    made: &Listed,
    linear: &Linear,
) -> Result<Option<Room>> {
    let (n, v) = (linear.rows, linear.o);
    let pieces = maker.pieces(n * v).min(n);
    let (mut views, mut next) = (Vec::new(), maker.only_user(made));
    while let Some(view) = next.filter(|of| of.op == "reshape") {
        views.push(view);
        next = maker.only_user(view);
    }
    let Some(loss) = next.filter(|of| of.op == LOSS && pieces > 1) else { return Ok(None) };
    check(maker, n)?;
    let each = n.div_ceil(pieces).next_multiple_of(4).min(n);
    let (scores, stats, losses) = (maker.room(each * v), maker.room(2 * n), maker.room(n));
    let to = if maker.measures { None } else { Some(Linear::target(maker, made)?) };
    let (targets, share, report) = (maker.fixed.targets, maker.fixed.share, maker.fixed.report);
    for from in (0..n).step_by(each) {
        let of = from..n.min(from + each);
        let (sizes, grid) = ([of.len(), v, from, n].map(|n| n as u32), rows(of.len()));
        linear.product(maker, &of, scores).call(maker);
        match to {
            None => maker.call(SCORE, &sizes, &[scores, targets, report], grid),
            Some(to) => {
                maker.call(FORWARD, &sizes, &[scores, targets, stats, losses], grid);
                maker.call(BACKWARD, &sizes, &[scores, targets, stats, share], grid);
                linear.back(maker, made, &of, scores, to)?;
            }
        }
    }
    if to.is_some() {
        sums::loss(maker, losses, n);
    }
    for view in views {
        maker.keep(view, losses);
    }
    maker.keep(loss, report);
    Ok(Some(losses))
}
