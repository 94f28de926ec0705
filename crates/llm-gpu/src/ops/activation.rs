//! gelu in both forms, silu, relu2, element by element; swiglu, whose row has two halves.

use super::common::rows_of;
use super::half::{self, BITS};
use crate::error::{GpuError, Result};
use crate::maker::{Made, Maker};
use crate::plan::{Kernel, Room, elements};
use llm_core::listing::Listed;

/// Texts of a product's end: with numbers as they are, and as f16.
pub(super) type Ending = [&'static [&'static str]; 2];

macro_rules! endings {
    ($($op:literal: $($text:expr),+;)+) => {
        [$(($op, [
            [
                &[$($text,)+ include_str!("end_activated.wgsl")],
                &[$($text,)+ include_str!("end_activated_half.wgsl")],
            ],
            [
                &[$($text,)+ include_str!("end_slope.wgsl")],
                &[$($text,)+ include_str!("end_slope_half.wgsl")],
            ],
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

/// How a product ends in each of them, forward and back: of numbers that are stored as they are, and as f16.
const ENDINGS: [(&str, [Ending; 2]); 4] = endings! {
    "gelu": include_str!("gelu.wgsl"), SIGMOID;
    "gelu_exact": include_str!("gelu_exact.wgsl");
    "silu": include_str!("silu.wgsl"), SIGMOID;
    "relu2": include_str!("relu2.wgsl");
};

/// How y is stored: as it is, or as f16.
const STORED: [&[&str]; 2] =
    [&[include_str!("each.wgsl")], &[BITS, include_str!("each_half.wgsl")]];

fn kernel(made: &Listed, entry: &'static str) -> Result<Kernel> {
    let of_op = TEXTS.iter().find(|(op, _)| *op == made.op);
    of_op
        .map(|(_, text)| Kernel { kinds: STORED[0], ..Kernel::new(entry, text) })
        .ok_or_else(|| GpuError::without(made.op))
}

/// Whether an op is one of these.
pub(super) fn is_one(made: &Listed) -> bool {
    TEXTS.iter().any(|(op, _)| *op == made.op)
}

/// The texts of a product that ends in this activation, or in its slope, where it goes number by number.
pub(super) fn ending(made: &Listed, entry: &str) -> Option<Ending> {
    let of_op = ENDINGS.iter().find(|(op, _)| *op == made.op);
    of_op.map(|(_, [forward, backward])| if entry == "forward" { *forward } else { *backward })
}

pub(super) fn forward(maker: &mut Maker<'_>, made: &Listed) -> Result<Made> {
    let (x, [rows, inner]) = (maker.value(made, 0)?, rows_of(&made.shape));
    let (n, is_half) = (rows * inner, half::is_result(maker, made));
    let y = maker.room_of(n, is_half);
    let kernel = Kernel { kinds: STORED[usize::from(is_half)], ..kernel(made, "forward")? };
    let grid = elements(if is_half { n / 4 } else { n });
    maker.call(kernel, &[n as u32, inner as u32, 0], &[x, y], grid);
    Ok(y.into())
}

pub(super) fn backward(m: &mut Maker<'_>, made: &Listed, dy: Room, _: &[Room]) -> Result<()> {
    let (x, [rows, inner]) = (m.value(made, 0)?, rows_of(&made.shape));
    let (dx, n) = (m.target(made, 0), rows * inner);
    let sizes = [n as u32, inner as u32, dx.add];
    m.call(kernel(made, "backward")?, &sizes, &[x, dy, dx.to], elements(n));
    Ok(())
}
