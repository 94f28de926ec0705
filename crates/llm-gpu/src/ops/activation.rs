//! gelu in both forms, silu, relu2, element by element; swiglu, whose row has two halves.

use super::common::rows_of;
use crate::error::{GpuError, Result};
use crate::maker::{Made, Maker};
use crate::plan::{Kernel, Room, elements};
use llm_core::listing::Listed;

macro_rules! endings {
    ($($op:literal: $($text:expr),+;)+) => {
        [$(($op, [
            &[$($text,)+ include_str!("end_activated.wgsl")],
            &[$($text,)+ include_str!("end_slope.wgsl")],
        ])),+]
    };
}

const EACH: &str = include_str!("activation.wgsl");
const SIGMOID: &str = include_str!("sigmoid.wgsl");
const TEXTS: [(&str, &[&str]); 5] = [
    ("gelu", &[EACH, SIGMOID, include_str!("gelu.wgsl")]),
    ("gelu_exact", &[EACH, include_str!("gelu_exact.wgsl")]),
    ("silu", &[EACH, SIGMOID, include_str!("silu.wgsl")]),
    ("relu2", &[EACH, include_str!("relu2.wgsl")]),
    ("swiglu", &[SIGMOID, include_str!("swiglu.wgsl")]),
];

/// How a product ends in each of them, forward and back.
const ENDINGS: [(&str, [&[&str]; 2]); 4] = endings! {
    "gelu": include_str!("gelu.wgsl"), SIGMOID;
    "gelu_exact": include_str!("gelu_exact.wgsl");
    "silu": include_str!("silu.wgsl"), SIGMOID;
    "relu2": include_str!("relu2.wgsl");
};

fn kernel(made: &Listed, entry: &'static str) -> Result<Kernel> {
    let of_op = TEXTS.iter().find(|(op, _)| *op == made.op);
    of_op.map(|(_, text)| Kernel::new(entry, text)).ok_or_else(|| GpuError::without(made.op))
}

/// Whether an op is one of these.
pub(super) fn is_one(made: &Listed) -> bool {
    TEXTS.iter().any(|(op, _)| *op == made.op)
}

/// The text of a product that ends in this activation, or in its slope, where it goes number by number.
pub(super) fn ending(made: &Listed, entry: &str) -> Option<&'static [&'static str]> {
    let of_op = ENDINGS.iter().find(|(op, _)| *op == made.op);
    of_op.map(|(_, [forward, backward])| if entry == "forward" { *forward } else { *backward })
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
