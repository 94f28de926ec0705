// y = x·σ(x);  dx = dy·(s + x·s·(1 − s)), s = σ(x).
fn value(x: f32) -> f32 { return x * sigmoid(x); }
fn slope(x: f32) -> f32 { let s = sigmoid(x); return fma(x * s, 1.0 - s, s); }
