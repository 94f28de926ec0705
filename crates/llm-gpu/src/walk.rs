//! From a list to a plan: every op forward, then newest first back, as the processor's walk goes.

use crate::error::{GpuError, Result};
use crate::layout::Layout;
use crate::maker::{Batches, Maker, Rooms};
use crate::ops;
use crate::plan::{Call, Part, Plan, elements};
use llm_core::listing::Listed;

/// The most workgroups along an axis of a grid.
const GRID: u32 = 65_535;

/// The plan of a step of so many micro-batches whose loss is the last of `list`, and what it was
/// made for.
pub(crate) fn plan(
    list: &[Listed],
    layout: &Layout,
    micro_batches: u32,
) -> Result<(Plan, Rooms, Batches)> {
    let batches = ops::batch_of(list)?;
    let mut maker = Maker::new(layout, batches, micro_batches > 1);
    gradient(&mut maker, list)?;
    maker.plan.end(Part::Gradient);
    if micro_batches > 1 {
        ops::sum(&mut maker, layout.numbers);
    }
    maker.plan.end(Part::Sum);
    ops::norm(&mut maker, layout.numbers);
    maker.plan.end(Part::Norm);
    update(&mut maker, layout);
    maker.plan.end(Part::Update);
    let most = |call: &Call| call.grid.into_iter().max().unwrap_or_default();
    if maker.plan.calls.iter().any(|call| most(call) > GRID) {
        return Err(GpuError::List("the batch is larger than one call of a kernel".into()));
    }
    Ok((maker.plan, maker.fixed, batches))
}

fn gradient(maker: &mut Maker<'_>, list: &[Listed]) -> Result<()> {
    let mut kept = Vec::new();
    for made in list {
        let done = (ops::row(made)?.forward)(maker, made)?;
        maker.keep(made, done.result);
        kept.push(done.kept);
    }
    // The way back begins at the loss, whose own backward reads no gradient.
    if let Some(loss) = list.last() {
        maker.hold(loss.result, maker.fixed.report);
    }
    for (made, kept) in list.iter().zip(&kept).rev() {
        let Some(dy) = maker.gradient_of(made) else { continue };
        (ops::row(made)?.backward)(maker, made, dy, kept)?;
        maker.let_go(dy);
    }
    match maker.unused() {
        Some(name) => Err(GpuError::List(format!("the loss does not depend on '{name}'"))),
        None => Ok(()),
    }
}

/// AdamW with the step's gradient.
fn update(maker: &mut Maker<'_>, layout: &Layout) {
    let (n, fixed) = (layout.numbers, maker.fixed.clone());
    let sizes = [n as u32, layout.decayed as u32];
    let mut rooms = vec![fixed.numbers, fixed.report, fixed.total, fixed.theta];
    rooms.extend(fixed.slots);
    maker.call(ops::ADAMW, &sizes, &rooms, elements(n));
}
