//! One Muon update of one matrix: momentum, the nearest orthogonal matrix, the step.
//!
//! m ← μ·m + (1−μ)·g,  U = orthogonal((1−μ)·g + μ·m),
//! θ ← θ·(1 − lr·λ) − lr · 0.2·√max(rows, columns) · U
//!
//! References: Jordan et al., "Muon: An optimizer for hidden layers in neural networks"; the scale,
//! with which U's numbers are as large as those of an AdamW step, is that of Liu et al., "Muon is
//! Scalable for LLM Training".

use super::gemm::{Threads, gemm};
use super::norm::sum_of_squares;
use super::simd::{fma, simd_kernel};
use crate::buffer::Buffer;
use ndarray::{ArrayBase, ArrayView2, ArrayViewMut2, Ix2, RawData};

/// The size of a step's numbers, as root of the mean square: that of AdamW's steps.
pub const SCALE: f32 = 0.2;

/// The numbers of one update.
#[derive(Clone, Copy, Debug)]
pub struct MuonUpdate {
    /// Learning rate.
    pub lr: f32,
    /// μ.
    pub momentum: f32,
    /// λ.
    pub weight_decay: f32,
    /// The gradient is multiplied by this first (clipping).
    pub grad_scale: f32,
}

const ROW: &str = "the numbers of a row lie one after the other";

/// One update of θ and m by the calling thread alone: matrices are worked on side by side.
///
/// # Shapes
/// All `[rows, columns]`, the numbers of a row one after the other.
pub fn step(
    mut theta: ArrayViewMut2<'_, f32>,
    mut m: ArrayViewMut2<'_, f32>,
    g: ArrayView2<'_, f32>,
    update: MuonUpdate,
) {
    let (rows, columns) = theta.dim();
    if theta.is_empty() {
        return;
    }
    let mut x = Buffer::stale(rows * columns);
    for ((x, m), g) in x.chunks_exact_mut(columns).zip(m.rows_mut()).zip(g.rows()) {
        let (m, g) = (m.into_slice().expect(ROW), g.to_slice().expect(ROW));
        look_ahead(x, m, g, update);
    }
    orthogonalize(&mut x, columns);
    let scale = update.lr * SCALE * (rows.max(columns) as f32).sqrt();
    let keep = 1.0 - update.lr * update.weight_decay;
    for (theta, x) in theta.rows_mut().into_iter().zip(x.chunks_exact(columns)) {
        follow(theta.into_slice().expect(ROW), x, keep, scale);
    }
}

simd_kernel! {
    fn look_ahead(x: &mut [f32], m: &mut [f32], g: &[f32], u: MuonUpdate) {
        for ((x, m), g) in x.iter_mut().zip(m).zip(g) {
            let g = (1.0 - u.momentum) * u.grad_scale * g;
            *m = fma::<FMA>(u.momentum, *m, g);
            *x = fma::<FMA>(u.momentum, *m, g);
        }
    }
}

simd_kernel! {
    fn follow(theta: &mut [f32], x: &[f32], keep: f32, scale: f32) {
        for (theta, x) in theta.iter_mut().zip(x) {
            *theta = fma::<FMA>(*theta, keep, -scale * x);
        }
    }
}

/// a, b, c of each step of the polynomial.
pub const STEPS: [[f32; 3]; 5] = [[3.4445, -4.7750, 2.0315]; 5];

/// X ← nearly U·Vᵀ, where X = U·S·Vᵀ: an odd polynomial of X keeps its singular vectors, and these
/// draw every singular value to about 1. 0 stays 0.
///
/// X ← X/‖X‖;  X ← a·X + (b·A + c·A²)·X  with A = X·Xᵀ, for each step; for a matrix with more rows
/// than columns the same of Xᵀ.
fn orthogonalize(x: &mut Buffer, columns: usize) {
    let n = columns.min(x.len() / columns);
    let norm = sum_of_squares(x).sqrt() as f32 + 1e-7;
    x.iter_mut().for_each(|x| *x /= norm);
    let mut next = Buffer::stale(x.len());
    let [mut square, mut sum] = [Buffer::stale(n * n), Buffer::stale(n * n)];
    for [a, b, c] in STEPS {
        let from = wide(matrix(x, columns));
        gemm(1.0, from, from.reversed_axes(), 0.0, matrix_mut(&mut square, n), Threads::One);
        sum.copy_from_slice(&square);
        let of = matrix(&square, n);
        gemm(c, of, of, b, matrix_mut(&mut sum, n), Threads::One);
        next.copy_from_slice(x);
        let to = wide(matrix_mut(&mut next, columns));
        gemm(1.0, matrix(&sum, n), from, a, to, Threads::One);
        std::mem::swap(x, &mut next);
    }
}

/// The matrix, or its transpose if that has fewer rows.
fn wide<S: RawData>(x: ArrayBase<S, Ix2>) -> ArrayBase<S, Ix2> {
    if x.nrows() > x.ncols() { x.reversed_axes() } else { x }
}

fn matrix(x: &[f32], columns: usize) -> ArrayView2<'_, f32> {
    ArrayView2::from_shape((x.len() / columns, columns), x).expect("whole rows")
}

fn matrix_mut(x: &mut [f32], columns: usize) -> ArrayViewMut2<'_, f32> {
    ArrayViewMut2::from_shape((x.len() / columns, columns), x).expect("whole rows")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, s};

    fn numbers(n: usize, from: u64) -> Vec<f32> {
        let mixed = |i: u64| ((i + 1) * from).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        (0..n as u64).map(|i| mixed(i) as f32 / (1 << 23) as f32 - 1.0).collect()
    }

    /// The equations of this file, word for word, in float64.
    fn naive(theta: &mut Array2<f64>, m: &mut Array2<f64>, g: &Array2<f64>, u: MuonUpdate) {
        let [lr, mu, decay, scale] =
            [u.lr, u.momentum, u.weight_decay, u.grad_scale].map(f64::from);
        let g = g * scale;
        *m = mu * &*m + (1.0 - mu) * &g;
        let x = (1.0 - mu) * &g + mu * &*m;
        let tall = x.nrows() > x.ncols();
        let x = if tall { x.reversed_axes() } else { x };
        let mut x = &x / (x.iter().map(|x| x * x).sum::<f64>().sqrt() + 1e-7);
        for [a, b, c] in STEPS.map(|step| step.map(f64::from)) {
            let square = x.dot(&x.t());
            x = a * &x + (b * &square + c * square.dot(&square)).dot(&x);
        }
        let x = if tall { x.reversed_axes() } else { x };
        let longest = theta.nrows().max(theta.ncols()) as f64;
        *theta = &*theta * (1.0 - lr * decay) - lr * 0.2 * longest.sqrt() * x;
    }

    /// Also of columns of a larger matrix, whose rows lie apart.
    #[test]
    fn equals_its_naive_twin_over_many_steps() {
        for (rows, columns) in [(1, 1), (1, 5), (7, 3), (8, 8), (16, 48), (33, 17)] {
            let (n, between) = (rows * (columns + 3), 2..2 + columns);
            let part = |x: &[f32]| {
                let x = Array2::from_shape_vec((rows, columns + 3), x.to_vec()).unwrap();
                x.slice_move(s![.., between.clone()])
            };
            let (mut theta, mut m) = (numbers(n, 3), vec![0.0; n]);
            let outside = theta[columns + 2];
            let mut want = part(&theta).mapv(f64::from);
            let mut mean = Array2::zeros((rows, columns));
            for t in 1..=12u64 {
                let g = numbers(n, t * 97);
                let update = MuonUpdate {
                    lr: 0.02 / t as f32,
                    momentum: 0.95,
                    weight_decay: 0.1,
                    grad_scale: 0.5,
                };
                let all = [&mut theta, &mut m].map(|x| matrix_mut(x, columns + 3));
                let [theta, m] = all.map(|x| x.slice_move(s![.., between.clone()]));
                step(theta, m, part(&g).view(), update);
                naive(&mut want, &mut mean, &part(&g).mapv(f64::from), update);
            }
            let close = |got: &Array2<f32>, want: &Array2<f64>| {
                got.iter().zip(want).all(|(got, want)| (f64::from(*got) - want).abs() < 1e-5)
            };
            assert!(close(&part(&theta), &want) && close(&part(&m), &mean), "{rows} {columns}");
            assert_eq!(theta[columns + 2], outside);
        }
    }

    #[test]
    fn singular_values_come_near_one_and_nothing_stays_nothing() {
        for (rows, columns) in [(8, 8), (8, 24), (24, 8), (64, 64)] {
            let mut x = Buffer::from(numbers(rows * columns, 1));
            orthogonalize(&mut x, columns);
            let x = wide(matrix(&x, columns));
            let square = x.dot(&x.t());
            assert!(square.diag().iter().all(|d| (0.3..1.6).contains(d)), "{square:?}");
            let mut zero = Buffer::zeros(rows * columns);
            orthogonalize(&mut zero, columns);
            assert!(zero.iter().all(|x| *x == 0.0));
        }
    }
}
