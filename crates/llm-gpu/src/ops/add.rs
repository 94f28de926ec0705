//! add: the residual stream.

use crate::error::{GpuError, Result};
use crate::maker::{Made, Maker};
use crate::plan::{Kernel, Room, elements};
use llm_core::listing::Listed;
use llm_core::message;

const TEXT: &[&str] = &[include_str!("elementwise.wgsl")];
const ADD: Kernel = Kernel::new("add", TEXT);

/// y = a + b.
pub(super) fn forward(maker: &mut Maker<'_>, made: &Listed) -> Result<Made> {
    if made.inputs.iter().any(|input| input.shape() != made.shape) {
        return Err(GpuError::no(made.op, message!("for inputs of two shapes")));
    }
    let (a, b) = (maker.value(made, 0)?, maker.value(made, 1)?);
    let n = made.shape.iter().product();
    let y = maker.room(n);
    maker.call(ADD, &[n as u32], &[a, b, y], elements(n));
    Ok(y.into())
}

/// da = db = dy: the room itself, which is copied only when one of the two is added to while it is
/// still the other's.
pub(super) fn backward(m: &mut Maker<'_>, made: &Listed, dy: Room, _: &[Room]) -> Result<()> {
    m.share(made, 0, dy);
    m.share(made, 1, dy);
    Ok(())
}
