//! Checks an op's gradient against finite differences of its value; public, for own ops too.

use crate::base::rng::stream;
use crate::base::{Error, Result};
use crate::ops;
use crate::tensor::Tensor;
use rand::Rng;

/// Relative difference that [`check`] accepts: f32 values, differences over ε = 3·10⁻³.
pub const TOLERANCE: f64 = 5e-3;

const EPS: f32 = 3e-3;

/// What a check measured.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// The input that fits worst.
    pub input: usize,
    /// |analytic − numeric| / max(|analytic|, |numeric|, scale) for it.
    pub error: f64,
}

/// Σ aᵢ·bᵢ in f64.
fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

/// Compares the gradients of `f` with central differences, input by input.
///
/// The output is made a number by a random cotangent r: L = Σ r∘f(inputs). For each input x a
/// random direction u of unit length is taken, and
///
/// ```text
/// ⟨∂L/∂x, u⟩   is compared with   (L(x + ε·u) − L(x − ε·u)) / 2ε
/// ```
///
/// with all sums in f64, over several directions. One random direction sees every element at once,
/// so a single wrong one shows.
///
/// ```
/// use llm_core::{Tensor, gradcheck, ndarray::ArrayD, ops};
/// let x = Tensor::parameter(ArrayD::from_shape_fn(vec![3, 4], |i| (i[0] + i[1]) as f32 / 4.0));
/// gradcheck::check(&[x], 1, |inputs| ops::gelu(&inputs[0]))?;
/// # Ok::<(), llm_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Gradient`] naming the input and both numbers when they differ by more than
/// [`TOLERANCE`], and whatever `f` returns.
pub fn check(
    inputs: &[Tensor],
    seed: u64,
    f: impl Fn(&[Tensor]) -> Result<Tensor>,
) -> Result<Report> {
    const DIRECTIONS: u64 = 4;
    let mut worst = Report { input: 0, error: 0.0 };
    for direction in 0..DIRECTIONS {
        let mut rng = stream(seed, b"gradchk\0", direction, 0);
        let mut uniform =
            |n: usize| -> Vec<f32> { (0..n).map(|_| rng.random_range(-1.0f32..1.0)).collect() };
        let output = f(inputs)?;
        let cotangent = Tensor::from_vec(output.shape(), uniform(output.numel()))?;
        let weighted = ops::sum(&ops::mul(&output, &cotangent)?)?;
        let grads = weighted.backward()?;
        // L in f64, so that its difference keeps digits
        let loss =
            |inputs: &[Tensor]| -> Result<f64> { Ok(dot(f(inputs)?.data(), cotangent.data())) };
        let size: f64 = output.data().iter().map(|y| f64::from(*y).abs()).sum();
        for (i, x) in inputs.iter().enumerate().filter(|(_, x)| x.wants_grad()) {
            let mut u = uniform(x.numel());
            let length = u.iter().map(|v| v * v).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
            u.iter_mut().for_each(|v| *v /= length);
            let along = |step: f32| -> Result<f64> {
                let mut moved = inputs.to_vec();
                for (x, u) in moved[i].data_mut().iter_mut().zip(&u) {
                    *x += step * u;
                }
                loss(&moved)
            };
            // A missing gradient counts as zero: that is what an optimizer would see.
            let analytic = grads.get(x).map_or(0.0, |g| dot(g, &u));
            let numeric = (along(EPS)? - along(-EPS)?) / (2.0 * f64::from(EPS));
            // Below this the rounding of L itself is what the difference measures.
            let noise = size * f64::from(f32::EPSILON) / f64::from(EPS);
            let scale = analytic.abs().max(numeric.abs()).max(1e-3).max(noise / TOLERANCE);
            let error = (analytic - numeric).abs() / scale;
            if error.is_nan() || error > TOLERANCE {
                return Err(Error::Gradient { input: i, analytic, numeric });
            }
            if error > worst.error {
                worst = Report { input: i, error };
            }
        }
    }
    Ok(worst)
}
