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
    let kernel = if rule.kind == Kind::Lion { LION } else { ADAMW };
    for (i, array) in layout.arrays.iter().enumerate() {
        if !array.matrices.is_empty() {
            muon::plan(maker, i, array);
        }
        let (first, end) = (array.hidden, array.numbers);
        if first == end {
            continue;
        }
        let fixed = &maker.fixed;
        let mut rooms = vec![fixed.numbers, fixed.report, fixed.total[i], fixed.theta[i]];
        rooms.extend(fixed.slots.iter().map(|slot| slot[i]));
        let sizes = [first, end, array.decayed].map(|n| n as u32);
        maker.call(kernel, &sizes, &rooms, elements(end - first));
    }
}
