//! SiLU, also called swish, and the gate that SwiGLU makes of it.
//!
//! silu(x) = x·σ(x),  σ(x) = 1/(1 + e⁻ˣ)
//! swiglu(a, u) = silu(a) ∘ u
//!
//! Reference: Elfwing, Uchibe, Doya, "Sigmoid-Weighted Linear Units for Neural Network Function
//! Approximation in Reinforcement Learning"; Shazeer, "GLU Variants Improve Transformer".

use super::elementwise::map_kernel;
use super::math::sigmoid;
use super::parallel::{self, HEAVY};
use super::simd::{fma, simd_kernel};

map_kernel! {
    /// y ← silu(x).
    pub fn forward(x) by HEAVY { x * sigmoid::<FMA>(x) }
}

map_kernel! {
    /// dx ← dy·silu′(x),  silu′(x) = σ(x) + x·σ(x)·(1 − σ(x)).
    pub fn backward(dy, x) by HEAVY {
        let s = sigmoid::<FMA>(x);
        dy * fma::<FMA>(x * s, 1.0 - s, s)
    }
}

/// y ← silu(a) ∘ u for every row of x, whose first half is a and whose second is u.
///
/// # Shapes
/// `x [rows, 2·width]`, `y [rows, width]`.
pub fn gate_forward(y: &mut [f32], x: &[f32], width: usize) {
    parallel::rows(y, width, HEAVY, |first, y| {
        gate_rows(y, &x[2 * first * width..2 * (first * width + y.len())], width);
    });
}

simd_kernel! {
    fn gate_rows(y: &mut [f32], x: &[f32], width: usize) {
        for (y, x) in y.chunks_exact_mut(width).zip(x.chunks_exact(2 * width)) {
            let (a, u) = x.split_at(width);
            for ((y, &a), u) in y.iter_mut().zip(a).zip(u) {
                *y = a * sigmoid::<FMA>(a) * u;
            }
        }
    }
}

/// da ← dy ∘ u ∘ silu′(a),  du ← dy ∘ silu(a), side by side as in x.
///
/// # Shapes
/// `x, dx [rows, 2·width]`, `dy [rows, width]`.
pub fn gate_backward(dx: &mut [f32], dy: &[f32], x: &[f32], width: usize) {
    // As many numbers of y as in gate_forward for a thread.
    parallel::rows(dx, 2 * width, 2 * HEAVY, |first, dx| {
        let x = &x[2 * first * width..2 * first * width + dx.len()];
        let dy = &dy[first * width..first * width + dx.len() / 2];
        gate_backward_rows(dx, dy, x, width);
    });
}

simd_kernel! {
    fn gate_backward_rows(dx: &mut [f32], dy: &[f32], x: &[f32], width: usize) {
        let rows = dx.chunks_exact_mut(2 * width).zip(dy.chunks_exact(width));
        for ((dx, dy), x) in rows.zip(x.chunks_exact(2 * width)) {
            let (a, u) = x.split_at(width);
            let (da, du) = dx.split_at_mut(width);
            for ((((da, du), &dy), &a), &u) in da.iter_mut().zip(du).zip(dy).zip(a).zip(u) {
                let s = sigmoid::<FMA>(a);
                *da = dy * u * fma::<FMA>(a * s, 1.0 - s, s);
                *du = dy * (a * s);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// silu in f64.
    fn naive(x: f64) -> f64 {
        x / (1.0 + (-x).exp())
    }

    /// silu′(x).
    fn slope(x: f64) -> f64 {
        (naive(x + 1e-6) - naive(x - 1e-6)) / 2e-6
    }

    fn points() -> Vec<f32> {
        (0..40_001).map(|i| -20.0 + i as f32 * 1e-3).collect()
    }

    fn near(got: f32, want: f64, what: &str) {
        assert!(
            (f64::from(got) - want).abs() < 2e-6 * want.abs().max(1.0),
            "{what}: {got}, not {want}"
        );
    }

    #[test]
    fn forward_and_backward_equal_their_naive_twins() {
        let (x, dy) = (points(), vec![2.0; 40_001]);
        let (mut y, mut dx) = (vec![f32::NAN; x.len()], vec![f32::NAN; x.len()]);
        forward(&mut y, &x);
        backward(&mut dx, &dy, &x);
        for ((&x, y), dx) in x.iter().zip(y).zip(dx) {
            near(y, naive(x.into()), "silu");
            near(dx, 2.0 * slope(x.into()), "silu'");
        }
    }

    #[test]
    fn gates_equal_their_naive_twin() {
        for (rows, width) in [(1, 1), (3, 5), (2, 16), (5, 33), (70, 700)] {
            let x: Vec<f32> =
                (0..2 * rows * width).map(|i| ((i * 37) % 101) as f32 / 10.0 - 5.0).collect();
            let dy: Vec<f32> =
                (0..rows * width).map(|i| ((i * 13) % 17) as f32 / 8.0 - 1.0).collect();
            let (mut y, mut dx) = (vec![f32::NAN; dy.len()], vec![f32::NAN; x.len()]);
            gate_forward(&mut y, &x, width);
            gate_backward(&mut dx, &dy, &x, width);
            for i in 0..dy.len() {
                let at = i / width * 2 * width + i % width;
                let [a, u, dy] = [x[at], x[at + width], dy[i]].map(f64::from);
                near(y[i], naive(a) * u, "y");
                near(dx[at], dy * u * slope(a), "da");
                near(dx[at + width], dy * naive(a), "du");
            }
        }
    }

    #[test]
    fn extremes_and_nan() {
        let (mut y, mut dx) = ([0.0; 3], [0.0; 3]);
        let x = [-100.0, 100.0, f32::NAN];
        forward(&mut y, &x);
        backward(&mut dx, &[1.0; 3], &x);
        assert_eq!((y[0], y[1]), (-0.0, 100.0));
        assert_eq!((dx[0], dx[1]), (0.0, 1.0));
        assert!(y[2].is_nan() && dx[2].is_nan());
    }
}
