//! GELU as it is defined, and its derivative.
//!
//! gelu(x) = x·Φ(x),  Φ(x) = ½·erfc(−x/√2): the share of a normal distribution below x
//!
//! For z ≥ 0, erfc(z) = t·exp(−z² + P(t)) with t = 1/(1 + z/2) and a polynomial P of degree 9, to a
//! relative error of 1.2·10⁻⁷, so that nothing cancels for negative x.
//!
//! Reference: Hendrycks and Gimpel, "Gaussian Error Linear Units (GELUs)"; the coefficients of P:
//! Press et al., "Numerical Recipes", a Chebyshev fit of erfc.

use super::elementwise::map_kernel;
use super::math::exp;
use super::simd::fma;

/// Coefficients of P, the highest power first.
const P: [f32; 10] = [
    0.170_872_77,
    -0.822_152_23,
    1.488_515_9,
    -1.135_204,
    0.278_868_07,
    -0.186_288_06,
    0.096_784_18,
    0.374_091_96,
    1.000_023_7,
    -1.265_512_2,
];
/// 1/√(2π).
const PEAK: f32 = 0.398_942_3;

/// Φ(x).
#[inline(always)]
fn share_below<const FMA: bool>(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / fma::<FMA>(0.5, z, 1.0);
    let mut p = P[0];
    for coefficient in &P[1..] {
        p = fma::<FMA>(p, t, *coefficient);
    }
    let tail = 0.5 * t * exp::<FMA>(fma::<FMA>(-z, z, p));
    if x < 0.0 { tail } else { 1.0 - tail }
}

map_kernel! {
    /// y ← gelu(x).
    pub fn forward(x) by HEAVY { x * share_below::<FMA>(x) }
}

map_kernel! {
    /// dx ← dy·gelu′(x),  gelu′(x) = Φ(x) + x·φ(x),  φ(x) = exp(−½x²)/√(2π).
    pub fn backward(dy, x) by HEAVY {
        let density = PEAK * exp::<FMA>(-0.5 * x * x);
        dy * fma::<FMA>(x, density, share_below::<FMA>(x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: f64 = 1.0 / 2048.0;

    /// φ in f64.
    fn density(x: f64) -> f64 {
        (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt()
    }

    /// Points from −10 to 10, and Φ there by its definition: the integral of φ from where nothing
    /// is left of it, by Simpson's rule.
    fn points() -> (Vec<f32>, Vec<f64>) {
        let mut below = 0.0;
        let mut all = (Vec::new(), Vec::new());
        for i in -40 * 2048..=10 * 2048 {
            let x = f64::from(i) * STEP;
            if x >= -10.0 {
                all.0.push(x as f32); // without rounding
                all.1.push(below);
            }
            let ends = density(x) + density(x + STEP);
            below += STEP / 6.0 * (ends + 4.0 * density(x + STEP / 2.0));
        }
        all
    }

    #[test]
    fn forward_equals_its_naive_twin() {
        let (x, shares) = points();
        let mut y = vec![f32::NAN; x.len()];
        forward(&mut y, &x);
        for ((&x, &y), share) in x.iter().zip(&y).zip(shares) {
            let want = f64::from(x) * share;
            assert!((f64::from(y) - want).abs() < 1e-6, "gelu({x}) = {y}, not {want}");
            // Where hardly anything is left, what is left is right.
            let relative = (f64::from(y) - want).abs() / want.abs().max(1e-30);
            assert!(relative < 1e-5, "gelu({x}) = {y}, not {want}");
        }
    }

    #[test]
    fn backward_is_the_derivative() {
        let (x, shares) = points();
        let dy = vec![2.0; x.len()];
        let mut dx = vec![f32::NAN; x.len()];
        backward(&mut dx, &dy, &x);
        for i in 1..x.len() - 1 {
            let y = |i: usize| f64::from(x[i]) * shares[i];
            let difference = (y(i + 1) - y(i - 1)) / (2.0 * STEP); // to STEP²/6 of the third derivative
            let want = 2.0 * (shares[i] + f64::from(x[i]) * density(f64::from(x[i])));
            assert!((2.0 * difference - want).abs() < 1e-6, "the twin at {}", x[i]);
            assert!(
                (f64::from(dx[i]) - want).abs() < 2e-6,
                "gelu'({}) = {}, not {want}",
                x[i],
                dx[i]
            );
        }
    }

    #[test]
    fn extremes_and_nan() {
        let mut y = [0.0; 4];
        forward(&mut y, &[-100.0, 100.0, f32::NAN, 0.0]);
        assert_eq!((y[0], y[1], y[3]), (-0.0, 100.0, 0.0));
        assert!(y[2].is_nan());
    }
}
