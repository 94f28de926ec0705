//! Rows of a text on their way through a layer, many at a time.

use super::elementwise::add_assign;
use super::gemm::{Factor, Threads, matrix, matrix_mut, multiply};

/// Every row of y ← bias.
pub fn fill(y: &mut [f32], bias: &[f32]) {
    y.chunks_exact_mut(bias.len()).for_each(|row| row.copy_from_slice(bias));
}

/// Every row of y ← row + bias.
pub fn add_each(y: &mut [f32], bias: &[f32]) {
    y.chunks_exact_mut(bias.len()).for_each(|row| add_assign(row, bias));
}

/// y ← y + X·W for `n` rows.
///
/// # Shapes
/// `x [n, K]`, `w [K, M]`, `y [n, M]`.
pub(crate) fn add_linear(y: &mut [f32], x: &[f32], w: Factor<'_>, n: usize) {
    let ((k, m), work) = (w.dim(), Threads::Pool.into());
    multiply([1.0, 1.0], matrix(x, n, k), w, None, matrix_mut(y, n, m), work);
}
