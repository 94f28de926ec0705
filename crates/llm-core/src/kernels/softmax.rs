//! softmax over rows: pᵢ = e^(xᵢ − max x) / Σⱼ e^(xⱼ − max x).

use super::math::{row_dot, row_exp_and_sum, row_max};
use super::parallel::{self, HEAVY};
use super::simd::simd_kernel;

/// Every row of `y [.., width]` ← softmax of the same row of `x`.
pub fn forward(y: &mut [f32], x: &[f32], width: usize) {
    parallel::rows(y, width, HEAVY, |first, y| {
        y.copy_from_slice(&x[first * width..first * width + y.len()]);
        rows_in_place(y, width);
    });
}

simd_kernel! {
    fn rows_in_place(y: &mut [f32], width: usize) {
        for row in y.chunks_exact_mut(width) {
            let max = row_max(row);
            let scale = 1.0 / row_exp_and_sum::<FMA>(row, max);
            for p in row {
                *p *= scale;
            }
        }
    }
}

/// dx ← p ∘ (dy − Σⱼ pⱼ·dyⱼ), row by row: the vector-Jacobian product of softmax.
pub fn backward(dx: &mut [f32], dy: &[f32], p: &[f32], width: usize) {
    parallel::rows(dx, width, HEAVY, |first, dx| {
        let range = first * width..first * width + dx.len();
        backward_rows(dx, &dy[range.clone()], &p[range], width);
    });
}

simd_kernel! {
    fn backward_rows(dx: &mut [f32], dy: &[f32], p: &[f32], width: usize) {
        let rows = dx.chunks_exact_mut(width).zip(dy.chunks_exact(width));
        for ((dx, dy), p) in rows.zip(p.chunks_exact(width)) {
            let dot = row_dot::<FMA>(p, dy);
            for ((dx, dy), p) in dx.iter_mut().zip(dy).zip(p) {
                *dx = p * (dy - dot);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive(x: &[f32]) -> Vec<f64> {
        let max = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let e: Vec<f64> = x.iter().map(|&v| f64::from(v - max).exp()).collect();
        let sum: f64 = e.iter().sum();
        e.into_iter().map(|v| v / sum).collect()
    }

    #[test]
    fn rows_equal_their_naive_twin() {
        for width in 1..70 {
            let x: Vec<f32> = (0..5 * width).map(|i| ((i * 37) % 23) as f32 - 11.0).collect();
            let mut y = vec![f32::NAN; x.len()];
            forward(&mut y, &x, width);
            for (x, y) in x.chunks(width).zip(y.chunks(width)) {
                for (got, want) in y.iter().zip(naive(x)) {
                    assert!((f64::from(*got) - want).abs() < 1e-6);
                }
            }
        }
    }

    #[test]
    fn a_masked_score_gets_nothing() {
        let mut y = [f32::NAN; 3];
        forward(&mut y, &[0.5, -1e9, 0.5], 3);
        assert_eq!(y, [0.5, 0.0, 0.5]);
    }
}
