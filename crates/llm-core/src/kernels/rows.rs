//! Rows of a text on their way through a layer, many at a time.

use super::elementwise::add_assign;
use super::gemm::{Threads, gemm, matrix, matrix_mut};

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
pub fn add_linear(y: &mut [f32], x: &[f32], w: &[f32], n: usize) {
    let (k, m) = (x.len() / n, y.len() / n);
    gemm(1.0, matrix(x, n, k), matrix(w, k, m), 1.0, matrix_mut(y, n, m), Threads::Pool);
}
