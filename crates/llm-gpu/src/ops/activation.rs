//! gelu in both forms, silu, relu2, element by element; swiglu, whose row has two halves.

use super::common::rows_of;
use crate::error::Result;
use crate::maker::{Made, Maker};
use crate::plan::{Kernel, Room, elements};
use llm_core::listing::Listed;

const EACH: &str = include_str!("activation.wgsl");
const SIGMOID: &str = include_str!("sigmoid.wgsl");
const GELU: &[&str] = &[EACH, SIGMOID, include_str!("gelu.wgsl")];
const GELU_EXACT: &[&str] = &[EACH, include_str!("gelu_exact.wgsl")];
const SILU: &[&str] = &[EACH, SIGMOID, include_str!("silu.wgsl")];
const RELU2: &[&str] = &[EACH, include_str!("relu2.wgsl")];
const SWIGLU: &[&str] = &[SIGMOID, include_str!("swiglu.wgsl")];

fn text_of(op: &str) -> &'static [&'static str] {
    match op {
        "gelu" => GELU,
        "gelu_exact" => GELU_EXACT,
        "silu" => SILU,
        _ => RELU2,
    }
}

pub(super) fn forward(maker: &mut Maker<'_>, made: &Listed) -> Result<Made> {
    let (x, n) = (maker.value(made, 0)?, made.shape.iter().product());
    let y = maker.room(n);
    let kernel = Kernel { entry: "forward", text: text_of(made.op) };
    maker.call(kernel, &[n as u32, 0], &[x, y], elements(n));
    Ok(y.into())
}

pub(super) fn backward(m: &mut Maker<'_>, made: &Listed, dy: Room, _: &[Room]) -> Result<()> {
    let (x, n) = (m.value(made, 0)?, made.shape.iter().product());
    let dx = m.target(made, 0);
    let kernel = Kernel { entry: "backward", text: text_of(made.op) };
    m.call(kernel, &[n as u32, dx.add], &[x, dy, dx.to], elements(n));
    Ok(())
}

pub(super) fn gate_forward(maker: &mut Maker<'_>, made: &Listed) -> Result<Made> {
    let (x, [rows, inner]) = (maker.value(made, 0)?, rows_of(&made.shape));
    let y = maker.room(rows * inner);
    let kernel = Kernel { entry: "forward", text: SWIGLU };
    let sizes = [(rows * inner) as u32, inner as u32, 0];
    maker.call(kernel, &sizes, &[x, y], elements(rows * inner));
    Ok(y.into())
}

pub(super) fn gate_backward(m: &mut Maker<'_>, made: &Listed, dy: Room, _: &[Room]) -> Result<()> {
    let (x, [rows, inner]) = (m.value(made, 0)?, rows_of(&made.shape));
    let dx = m.target(made, 0);
    let kernel = Kernel { entry: "backward", text: SWIGLU };
    let sizes = [(rows * inner) as u32, inner as u32, dx.add];
    m.call(kernel, &sizes, &[x, dy, dx.to], elements(rows * inner));
    Ok(())
}
