//! Rows of a text on their way through a layer, one or many at a time.

use super::elementwise::add_assign;
use super::gemm::{Threads, gemm, matrix, matrix_mut};
use super::gemv;

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
/// `x [n, K]`, `w [K, M]`, `y [n, M]`; `partial` is space for one row's product, see
/// [`gemv::add_product`], and grows when it is too small.
pub fn add_linear(y: &mut [f32], x: &[f32], w: &[f32], n: usize, partial: &mut Vec<f32>) {
    if n == 1 {
        let needed = (gemv::MOST_GROUPS - 1) * y.len();
        if partial.len() < needed {
            partial.resize(needed, 0.0);
        }
        return gemv::add_product(y, x, w, partial);
    }
    let (k, m) = (x.len() / n, y.len() / n);
    gemm(1.0, matrix(x, n, k), matrix(w, k, m), 1.0, matrix_mut(y, n, m), Threads::Pool);
}
