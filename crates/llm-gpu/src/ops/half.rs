//! What is stored as f16: what only products in f16 read, by the kernel that makes it.

use super::common::{number, rows_of};
use crate::error::Result;
use crate::maker::Maker;
use llm_core::kernels::gemm::Precision;
use llm_core::listing::{Input, Listed};

/// How numbers are rounded to f16, and stored: four of them in two words.
pub(super) const BITS: &str = include_str!("f16.wgsl");

/// Whether an op is a linear layer whose products are in f16.
pub(super) fn multiplies(made: &Listed) -> bool {
    made.op == "linear" && made.number("bits") == Some(Precision::F16.bits() as f64)
}

/// What a gradient is multiplied by before it is rounded: as a mean over the n rows of a step it is about n times too small.
pub(super) fn lift(maker: &Maker<'_>) -> f32 {
    maker.rows_of_a_step().next_power_of_two() as f32
}

/// Whether an op's result is stored as f16: none but linear layers read it, whose products are in f16.
pub(super) fn is_result(maker: &Maker<'_>, made: &Listed) -> bool {
    let users = maker.users(made);
    let is_read = |user: &&Listed| {
        let only = |(i, x): (usize, &Input)| (x.id() == Some(made.result)) == (i == 0);
        multiplies(user) && user.inputs.iter().enumerate().all(only)
    };
    !users.is_empty() && rows_of(&made.shape)[1].is_multiple_of(4) && users.iter().all(is_read)
}

/// What the gradient of an op's input is multiplied by to be stored as f16, where the input is a linear layer's result that
/// nothing else uses. Sums of it, for a bias, come with dW.
pub(super) fn lift_of(maker: &Maker<'_>, made: &Listed, i: usize) -> Result<Option<f32>> {
    let linear = maker.maker_of(made, i).filter(|linear| maker.only_user(linear).is_some());
    let Some(linear) = linear.filter(|of| multiplies(of)) else { return Ok(None) };
    let sums_come = number(linear, "transposed")? == 0.0 || linear.inputs.len() < 3;
    let fits = sums_come && rows_of(&linear.shape)[1].is_multiple_of(4);
    Ok(fits.then(|| lift(maker)))
}
