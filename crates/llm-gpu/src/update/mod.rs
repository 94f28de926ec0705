//! The calls of each optimizer. Each WGSL file has the equations of one.

mod muon;

use crate::layout::Layout;
use crate::maker::Maker;
use crate::plan::{Kernel, elements};
use crate::rule::{Kind, Rule};

const ADAMW: Kernel = Kernel::new("update", &[include_str!("adamw.wgsl")]);
const LION: Kernel = Kernel::new("update", &[include_str!("lion.wgsl")]);

/// The calls of an update.
pub(crate) fn plan(rule: &Rule, maker: &mut Maker<'_>, layout: &Layout) {
    if !layout.matrices.is_empty() {
        muon::plan(maker, layout);
    }
    let (first, end) = (layout.hidden, layout.numbers);
    if first == end {
        return;
    }
    let kernel = if rule.kind == Kind::Lion { LION } else { ADAMW };
    let fixed = &maker.fixed;
    let mut rooms = vec![fixed.numbers, fixed.report, fixed.total, fixed.theta];
    rooms.extend(&fixed.slots);
    let sizes = [first, end, layout.decayed].map(|n| n as u32);
    maker.call(kernel, &sizes, &rooms, elements(end - first));
}
