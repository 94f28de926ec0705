// y = x·σ(2u), u = √(2/π)·(x + 0.044715·x³): gelu in its tanh form.
// dx = dy·(s + x·s·(1 − s)·2u′), s = σ(2u), u′ = √(2/π)·(1 + 3·0.044715·x²).
const ROOT: f32 = 0.7978846;
const CUBIC: f32 = 0.044715;
fn twice_u(x: f32) -> f32 { return 2.0 * ROOT * x * fma(CUBIC * x, x, 1.0); }
fn value(x: f32) -> f32 { return x * sigmoid(twice_u(x)); }
fn slope(x: f32) -> f32 {
    let s = sigmoid(twice_u(x));
    return fma(x * s * (1.0 - s), 2.0 * ROOT * fma(3.0 * CUBIC * x, x, 1.0), s);
}
