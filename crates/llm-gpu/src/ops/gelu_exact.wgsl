// y = x·Φ(x), dx = dy·(Φ(x) + x·φ(x)), φ(x) = e^(−x²/2)/√(2π): gelu as it is defined. For z = |x|/√2, erfc(z) =
// t·e^(P(t) − z²) with t = 1/(1 + z/2), to a relative error of 1.2e-7: nothing cancels for negative x.
// Reference: Press et al., "Numerical Recipes", a Chebyshev fit of erfc.
const P = array<f32, 10>(0.17087277, -0.82215223, 1.4885159, -1.135204, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.0000237, -1.2655122);
const PEAK: f32 = 0.3989423;
fn share_below(x: f32) -> f32 {
    let z = abs(x) * 0.70710678;
    let t = 1.0 / fma(0.5, z, 1.0);
    var sum = P[0];
    for (var i = 1; i < 10; i++) { sum = fma(sum, t, P[i]); }
    let tail = 0.5 * t * exp(fma(-z, z, sum));
    return select(1.0 - tail, tail, x < 0.0);
}
fn value(x: f32) -> f32 { return x * share_below(x); }
fn slope(x: f32) -> f32 { return fma(x * PEAK, exp(-0.5 * x * x), share_below(x)); }
