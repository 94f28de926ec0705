//! From a list to a plan: every op forward, then newest first back, as the processor's walk goes.

use crate::error::{GpuError, Result};
use crate::layout::Layout;
#[cfg(feature = "native")]
use crate::maker::Growing;
use crate::maker::{Batches, Maker, Rooms};
use crate::plan::{Call, Capacity, Part, Plan};
#[cfg(feature = "native")]
use crate::plan::{Room, Use};
use crate::rule::Rule;
use crate::{ops, update};
use llm_core::listing::Listed;
use llm_core::message;

/// The most workgroups along an axis of a grid.
const GRID: u32 = 65_535;

/// The plan of a step of `micro_batches`, of each of `ranks` processes, whose loss is the last of `list`, and what it was
/// made for. A tight one keeps less and computes more.
pub(crate) fn plan(
    list: &[Listed],
    layout: &Layout,
    rule: &Rule,
    [micro_batches, ranks]: [u32; 2],
    on: Capacity,
    is_tight: bool,
) -> Result<(Plan, Rooms, Batches)> {
    let batches = ops::batch_of(list)?;
    let mut maker = Maker::new(layout, batches, rule.slots, micro_batches, on);
    (maker.is_tight, maker.ranks) = (is_tight, ranks);
    maker.follow(list);
    gradient(&mut maker, list)?;
    maker.plan.end(Part::Gradient);
    if micro_batches > 1 {
        ops::sum(&mut maker, layout);
    }
    maker.plan.end(Part::Sum);
    ops::norm(&mut maker, layout);
    maker.plan.end(Part::Norm);
    ops::clip(&mut maker);
    maker.plan.end(Part::Clip);
    update::plan(rule, &mut maker, layout);
    maker.plan.end(Part::Update);
    check(&maker.plan)?;
    Ok((maker.plan, maker.fixed, batches))
}

/// The plan of a measurement: forward alone, and of the loss what each place has of it.
pub(crate) fn scoring(
    list: &[Listed],
    layout: &Layout,
    on: Capacity,
) -> Result<(Plan, Rooms, Batches)> {
    let batches = ops::batch_of(list)?;
    let mut maker = Maker::scoring(layout, batches, on);
    maker.follow(list);
    for made in list {
        if maker.has(made) {
            continue;
        }
        if made.op == ops::LOSS {
            ops::score(&mut maker, made)?;
        } else {
            let done = (ops::row(made)?.forward)(&mut maker, made)?;
            maker.keep(made, done.result);
        }
    }
    maker.plan.end(Part::Score);
    check(&maker.plan)?;
    Ok((maker.plan, maker.fixed, batches))
}

/// The plan of reading a token more of a text of at most `context`, from the list of one token's loss; where its place is said,
/// and where scores of what follows stand.
#[cfg(feature = "native")]
pub(crate) fn reading(
    list: &[Listed],
    layout: &Layout,
    on: Capacity,
    context: usize,
) -> Result<(Plan, Rooms, [Room; 2])> {
    let batches = ops::batch_of(list)?;
    let mut maker = Maker::scoring(layout, batches, on);
    let place = maker.plan.room(1, Use::Kept);
    maker.text = Some(Growing { context, place });
    maker.follow(list);
    let mut scores = place;
    for made in list {
        if made.op == ops::LOSS {
            scores = maker.value(made, 0)?;
        } else if !maker.has(made) {
            let done = (ops::row(made)?.forward)(&mut maker, made)?;
            maker.keep(made, done.result);
        }
    }
    maker.plan.end(Part::Score);
    check(&maker.plan)?;
    Ok((maker.plan, maker.fixed, [place, scores]))
}

fn check(plan: &Plan) -> Result<()> {
    let most = |call: &Call| call.grid.into_iter().max().unwrap_or_default();
    match plan.calls.iter().any(|call| most(call) > GRID) {
        true => Err(GpuError::List(message!("the batch is larger than one call of a kernel"))),
        false => Ok(()),
    }
}

fn gradient(maker: &mut Maker<'_>, list: &[Listed]) -> Result<()> {
    let mut kept = Vec::new();
    for made in list {
        if maker.has(made) {
            kept.push(Vec::new());
            continue;
        }
        let done = (ops::row(made)?.forward)(maker, made)?;
        maker.keep(made, done.result);
        kept.push(done.kept);
    }
    // The way back begins at the loss, whose own backward reads no gradient, if that is not done already.
    if let Some(loss) = list.last().filter(|_| kept.last().is_some_and(|kept| !kept.is_empty())) {
        maker.hold(loss.result, maker.fixed.report);
    }
    for (made, kept) in list.iter().zip(&kept).rev() {
        let Some(dy) = maker.gradient_of(made) else { continue };
        (ops::row(made)?.backward)(maker, made, dy, kept)?;
        maker.let_go(dy);
    }
    maker.add_up_waiting();
    match maker.unused() {
        Some(name) => Err(GpuError::List(message!("the loss does not depend on '{}'", name))),
        None => Ok(()),
    }
}
