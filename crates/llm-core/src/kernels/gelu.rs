//! GELU in its tanh form, and its derivative.
//!
//! gelu(x) = ½·x·(1 + tanh u),  u = √(2/π)·(x + 0.044715·x³)
//!
//! computed as x·σ(2u), the same by ½(1 + tanh u) = σ(2u): one exponential, and no cancellation
//! for negative x.

use super::elementwise::map_kernel;
use super::math::sigmoid;
use super::simd::fma;

/// √(2/π).
const C0: f32 = 0.797_884_6;
/// The cubic term's factor (Hendrycks and Gimpel, "Gaussian Error Linear Units").
const C1: f32 = 0.044_715;

map_kernel! {
    /// y ← gelu(x).
    pub fn forward(x) by HEAVY {
        let u = C0 * x * fma::<FMA>(C1 * x, x, 1.0);
        x * sigmoid::<FMA>(2.0 * u)
    }
}

map_kernel! {
    /// dx ← dy·gelu′(x).
    ///
    /// With s = σ(2u):  gelu′(x) = s + x·s·(1 − s)·2u′,  u′ = √(2/π)·(1 + 3·0.044715·x²).
    pub fn backward(dy, x) by HEAVY {
        let u = C0 * x * fma::<FMA>(C1 * x, x, 1.0);
        let two_du = 2.0 * C0 * fma::<FMA>(3.0 * C1 * x, x, 1.0);
        let s = sigmoid::<FMA>(2.0 * u);
        dy * fma::<FMA>(x * s * (1.0 - s), two_du, s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The textbook form in f64.
    fn naive(x: f64) -> f64 {
        let u = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
        0.5 * x * (1.0 + u.tanh())
    }

    fn points() -> Vec<f32> {
        (0..40_001).map(|i| -10.0 + i as f32 * 5e-4).collect()
    }

    #[test]
    fn forward_equals_its_naive_twin() {
        let x = points();
        let mut y = vec![f32::NAN; x.len()];
        forward(&mut y, &x);
        for (&x, &y) in x.iter().zip(&y) {
            assert!((f64::from(y) - naive(f64::from(x))).abs() < 1e-6, "gelu({x}) = {y}");
        }
    }

    #[test]
    fn backward_is_the_derivative() {
        let x = points();
        let dy = vec![2.0; x.len()];
        let mut dx = vec![f32::NAN; x.len()];
        backward(&mut dx, &dy, &x);
        for (&x, &dx) in x.iter().zip(&dx) {
            let x = f64::from(x);
            let want = (naive(x + 1e-6) - naive(x - 1e-6)) / 1e-6;
            assert!((f64::from(dx) - want).abs() < 5e-6, "gelu'({x}) = {dx}, not {want}");
        }
    }

    #[test]
    fn extremes_and_nan() {
        let mut y = [0.0; 3];
        forward(&mut y, &[-100.0, 100.0, f32::NAN]);
        assert_eq!((y[0], y[1]), (-0.0, 100.0));
        assert!(y[2].is_nan());
    }
}
