//! One AdamW update of one tensor, all of it in a single pass over θ, g, m and v.
//!
//! m ← β₁·m + (1−β₁)·g,  v ← β₂·v + (1−β₂)·g²,
//! θ ← θ·(1 − lr·λ) − lr · (m/(1−β₁ᵗ)) / (√(v/(1−β₂ᵗ)) + ε)
//!
//! Reference: Loshchilov and Hutter, "Decoupled Weight Decay Regularization"; the algebra is
//! PyTorch's.

use super::parallel::HEAVY;
use super::simd::{fma, simd_kernel};
use rayon::prelude::*;

/// The numbers of one update, the same for every element.
#[derive(Clone, Copy, Debug)]
pub struct AdamWUpdate {
    /// Learning rate.
    pub lr: f32,
    /// Decay of the first moment.
    pub beta1: f32,
    /// Decay of the second moment.
    pub beta2: f32,
    /// Added to the root of the second moment.
    pub eps: f32,
    /// λ.
    pub weight_decay: f32,
    /// Number of this update, from 1.
    pub t: u64,
    /// The gradient is multiplied by this first (clipping).
    pub grad_scale: f32,
}

/// One update of θ, m and v.
pub fn step(theta: &mut [f32], m: &mut [f32], v: &mut [f32], g: &[f32], update: AdamWUpdate) {
    // The corrections in f64: 1 − β₂ᵗ cancels for β₂ near 1.
    let correction = |beta: f32| (1.0 - libm::pow(f64::from(beta), update.t as f64)) as f32;
    let (c1, c2) = (correction(update.beta1), correction(update.beta2));
    if theta.len() < 2 * HEAVY {
        return chunk(theta, m, v, g, update, c1, c2);
    }
    let chunks = theta.par_chunks_mut(HEAVY).zip(m.par_chunks_mut(HEAVY));
    let chunks = chunks.zip(v.par_chunks_mut(HEAVY)).zip(g.par_chunks(HEAVY));
    chunks.for_each(|(((theta, m), v), g)| chunk(theta, m, v, g, update, c1, c2));
}

simd_kernel! {
    fn chunk(theta: &mut [f32], m: &mut [f32], v: &mut [f32], g: &[f32], u: AdamWUpdate, c1: f32, c2: f32) {
        let (keep, rate, root) = (1.0 - u.lr * u.weight_decay, u.lr / c1, 1.0 / c2.sqrt());
        for (((theta, m), v), g) in theta.iter_mut().zip(m).zip(v).zip(g) {
            let g = g * u.grad_scale;
            *m = fma::<FMA>(u.beta1, *m, (1.0 - u.beta1) * g);
            *v = fma::<FMA>(u.beta2, *v, (1.0 - u.beta2) * g * g);
            let denominator = fma::<FMA>(v.sqrt(), root, u.eps);
            *theta = fma::<FMA>(*theta, keep, -rate * (*m / denominator));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_its_naive_twin() {
        for n in [1, 15, 16, 33, 3 * HEAVY + 7] {
            let mut theta: Vec<f32> = (0..n).map(|i| ((i % 13) as f32 - 6.0) / 6.0).collect();
            let (mut m, mut v) = (vec![0.0; n], vec![0.0; n]);
            let mut want: Vec<[f64; 3]> = theta.iter().map(|&x| [f64::from(x), 0.0, 0.0]).collect();
            for t in 1..=3u64 {
                let g: Vec<f32> = (0..n).map(|i| ((i as u64 * t) % 7) as f32 / 3.5 - 1.0).collect();
                let update = AdamWUpdate {
                    lr: 0.01,
                    beta1: 0.9,
                    beta2: 0.999,
                    eps: 1e-8,
                    weight_decay: 0.1,
                    t,
                    grad_scale: 0.5,
                };
                step(&mut theta, &mut m, &mut v, &g, update);
                for ([x, m, v], g) in want.iter_mut().zip(&g) {
                    let (b1, b2, g) = (0.9, 0.999, f64::from(*g) * 0.5);
                    *m = b1 * *m + (1.0 - b1) * g;
                    *v = b2 * *v + (1.0 - b2) * g * g;
                    let (mh, vh) = (
                        *m / (1.0 - f64::powf(b1, t as f64)),
                        *v / (1.0 - f64::powf(b2, t as f64)),
                    );
                    *x -= 0.01 * (mh / (vh.sqrt() + 1e-8) + 0.1 * *x);
                }
            }
            for (got, [want, ..]) in theta.iter().zip(&want) {
                assert!((f64::from(*got) - want).abs() < 1e-6, "{got} {want}");
            }
        }
    }
}
