//! What several ops ask of a listed one, and a piece of text that several kernels have.

use crate::error::{GpuError, Result};
use crate::plan::Kernel;
use llm_core::listing::Listed;

/// The op that ends a list.
pub(crate) const LOSS: &str = "cross_entropy";

/// A sum over the 64 threads of a workgroup, in front of kernels that have a row for each.
pub(super) const ROW_SUMS: &str = include_str!("rows.wgsl");

/// Kernels of a product, from the largest tile of C to the smallest, with its edge.
pub(super) type Tiles = [(usize, Kernel)];

/// Rows that one thread adds up at a time, where a sum over rows is cut.
pub(super) fn chunk_of(rows: usize) -> usize {
    rows.div_ceil(256).max(32)
}

/// The last axis, and how many rows of it there are.
pub(super) fn rows_of(shape: &[usize]) -> [usize; 2] {
    let width = shape.last().copied().unwrap_or(1);
    [shape.iter().product::<usize>() / width.max(1), width]
}

/// A number that the op has to have said.
pub(super) fn number(made: &Listed, name: &'static str) -> Result<f64> {
    made.number(name).ok_or_else(|| GpuError::unsaid(made.op, name))
}

pub(super) fn whole(made: &Listed, name: &'static str) -> Result<usize> {
    Ok(number(made, name)? as usize)
}
