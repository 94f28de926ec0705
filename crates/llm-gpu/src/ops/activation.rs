//! gelu in both forms, silu, relu2, element by element; swiglu, whose row has two halves.

use super::common::rows_of;
use crate::error::{GpuError, Result};
use crate::maker::{Made, Maker};
use crate::plan::{Kernel, Room, elements};
use llm_core::listing::Listed;

const EACH: &str = include_str!("activation.wgsl");
const SIGMOID: &str = include_str!("sigmoid.wgsl");
const TEXTS: [(&str, &[&str]); 5] = [
    ("gelu", &[EACH, SIGMOID, include_str!("gelu.wgsl")]),
    ("gelu_exact", &[EACH, include_str!("gelu_exact.wgsl")]),
    ("silu", &[EACH, SIGMOID, include_str!("silu.wgsl")]),
    ("relu2", &[EACH, include_str!("relu2.wgsl")]),
    ("swiglu", &[SIGMOID, include_str!("swiglu.wgsl")]),
];

fn kernel(made: &Listed, entry: &'static str) -> Result<Kernel> {
    let of_op = TEXTS.iter().find(|(op, _)| *op == made.op);
    of_op.map(|(_, text)| Kernel { entry, text }).ok_or_else(|| GpuError::without(made.op))
}

pub(super) fn forward(maker: &mut Maker<'_>, made: &Listed) -> Result<Made> {
    let (x, [rows, inner]) = (maker.value(made, 0)?, rows_of(&made.shape));
    let (y, n) = (maker.room(rows * inner), rows * inner);
    maker.call(kernel(made, "forward")?, &[n as u32, inner as u32, 0], &[x, y], elements(n));
    Ok(y.into())
}

pub(super) fn backward(m: &mut Maker<'_>, made: &Listed, dy: Room, _: &[Room]) -> Result<()> {
    let (x, [rows, inner]) = (m.value(made, 0)?, rows_of(&made.shape));
    let (dx, n) = (m.target(made, 0), rows * inner);
    let sizes = [n as u32, inner as u32, dx.add];
    m.call(kernel(made, "backward")?, &sizes, &[x, dy, dx.to], elements(n));
    Ok(())
}
