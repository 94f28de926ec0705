//! One Lion update of one tensor, all of it in a single pass over θ, g and m.
//!
//! c = β₁·m + (1−β₁)·g,  θ ← θ·(1 − lr·λ) − lr·sign(c),  m ← β₂·m + (1−β₂)·g
//!
//! Reference: Chen et al., "Symbolic Discovery of Optimization Algorithms", algorithm 2.

use super::parallel::HEAVY;
use super::simd::{fma, simd_kernel};
use rayon::prelude::*;

/// The numbers of one update, the same for every element.
#[derive(Clone, Copy, Debug)]
pub struct LionUpdate {
    /// Learning rate.
    pub lr: f32,
    /// Share of m in what the step follows.
    pub beta1: f32,
    /// Decay of m.
    pub beta2: f32,
    /// λ.
    pub weight_decay: f32,
    /// The gradient is multiplied by this first (clipping).
    pub grad_scale: f32,
}

/// One update of θ and m.
pub fn step(theta: &mut [f32], m: &mut [f32], g: &[f32], update: LionUpdate) {
    if theta.len() < 2 * HEAVY {
        return chunk(theta, m, g, update);
    }
    let chunks = theta.par_chunks_mut(HEAVY).zip(m.par_chunks_mut(HEAVY));
    let chunks = chunks.zip(g.par_chunks(HEAVY));
    chunks.for_each(|((theta, m), g)| chunk(theta, m, g, update));
}

simd_kernel! {
    fn chunk(theta: &mut [f32], m: &mut [f32], g: &[f32], u: LionUpdate) {
        let keep = 1.0 - u.lr * u.weight_decay;
        for ((theta, m), g) in theta.iter_mut().zip(m).zip(g) {
            let g = g * u.grad_scale;
            let c = fma::<FMA>(u.beta1, *m, (1.0 - u.beta1) * g);
            // Two comparisons, so that the sign of 0 is 0.
            let sign = f32::from(u8::from(c > 0.0)) - f32::from(u8::from(c < 0.0));
            *theta = fma::<FMA>(*theta, keep, -u.lr * sign);
            *m = fma::<FMA>(u.beta2, *m, (1.0 - u.beta2) * g);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values for which no c is so near 0 that rounding decides its sign.
    #[test]
    fn equals_its_naive_twin_over_many_steps() {
        for n in [1, 15, 16, 33, 3 * HEAVY + 7] {
            let mut theta: Vec<f32> = (0..n).map(|i| ((i % 13) as f32 - 6.0) / 6.0).collect();
            let mut m = vec![0.0; n];
            let mut want: Vec<[f64; 2]> = theta.iter().map(|&x| [f64::from(x), 0.0]).collect();
            for t in 1..=25u64 {
                let g: Vec<f32> =
                    (0..n).map(|i| ((i as u64 * t + 3 * t) % 11) as f32 / 5.5 - 0.93).collect();
                let lr = 0.01 / t as f32;
                let (beta1, beta2, weight_decay, grad_scale) = (0.9, 0.99, 0.1, 0.5);
                step(
                    &mut theta,
                    &mut m,
                    &g,
                    LionUpdate { lr, beta1, beta2, weight_decay, grad_scale },
                );
                let [lr, b1, b2, decay, scale] =
                    [lr, beta1, beta2, weight_decay, grad_scale].map(f64::from);
                for ([x, m], g) in want.iter_mut().zip(&g) {
                    let g = f64::from(*g) * scale;
                    let c = b1 * *m + (1.0 - b1) * g;
                    assert!(c.abs() > 1e-6, "step {t}: a sign that rounding decides");
                    *x -= lr * (c.signum() + decay * *x);
                    *m = b2 * *m + (1.0 - b2) * g;
                }
            }
            for ((got, of), [want, mean]) in theta.iter().zip(&m).zip(&want) {
                assert!((f64::from(*got) - want).abs() < 2e-6, "{got} {want}");
                assert!((f64::from(*of) - mean).abs() < 1e-6, "{of} {mean}");
            }
        }
    }

    #[test]
    fn threads_change_no_bit() {
        let n = 5 * HEAVY + 3;
        let g: Vec<f32> = (0..n).map(|i| ((i * 7919) % 1009) as f32 / 500.0 - 1.0).collect();
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let (mut theta, mut m) = (vec![0.5; n], vec![0.0; n]);
                for _ in 0..3 {
                    let (beta1, beta2, weight_decay, grad_scale) = (0.9, 0.99, 0.1, 0.5);
                    let lr = 0.003;
                    let update = LionUpdate { lr, beta1, beta2, weight_decay, grad_scale };
                    step(&mut theta, &mut m, &g, update);
                }
                [theta, m].map(|x| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>())
            })
        };
        assert_eq!(run(1), run(3));
    }
}
