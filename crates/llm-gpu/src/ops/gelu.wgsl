// y = x·σ(2u), u = √(2/π)·(x + 0.044715·x³): gelu in its tanh form.
// dx = dy·(s + x·s·(1 − s)·2u′), s = σ(2u), u′ = √(2/π)·(1 + 3·0.044715·x²).
struct Sizes { n: u32, add: u32 }
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<storage, read> dy: array<f32>;
@group(0) @binding(3) var<storage, read_write> dx: array<f32>;
const ROOT: f32 = 0.7978846;
const CUBIC: f32 = 0.044715;

// An argument beyond ±60 would overflow in exp; σ is 0 or 1 there to the last bit of an f32.
fn sigmoid(z: f32) -> f32 { return 1.0 / (1.0 + exp(-clamp(z, -60.0, 60.0))); }
fn twice_u(x: f32) -> f32 { return 2.0 * ROOT * x * fma(CUBIC * x, x, 1.0); }
fn value(x: f32) -> f32 { return x * sigmoid(twice_u(x)); }
fn slope(x: f32) -> f32 {
    let s = sigmoid(twice_u(x));
    return fma(x * s * (1.0 - s), 2.0 * ROOT * fma(3.0 * CUBIC * x, x, 1.0), s);
}
@compute @workgroup_size(256)
fn forward(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    for (var i = at.x; i < p.n; i += grid.x * 256u) { y[i] = value(x[i]); }
}

@compute @workgroup_size(256)
fn backward(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    for (var i = at.x; i < p.n; i += grid.x * 256u) {
        let share = dy[i] * slope(x[i]);
        if p.add == 1u { dx[i] += share; } else { dx[i] = share; }
    }
}
