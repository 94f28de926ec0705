// x̂ = (x − μ)·r, r = 1/√(σ² + ε);  y = x̂ or g ∘ x̂ + b.
// With d = dy (∘ g): dx = r·(d − mean(d) − x̂·mean(d ∘ x̂));  dg = Σ_rows dy ∘ x̂ (db is a sum of columns).
struct Sizes { rows: u32, width: u32, eps: f32, affine: u32, gain_at: u32, bias_at: u32, add: u32, chunk: u32 }
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> theta: array<f32>; // gain and bias among all parameters
@group(0) @binding(3) var<storage, read_write> stats: array<f32>; // of each row μ, r
@group(0) @binding(4) var<storage, read_write> y: array<f32>;
@group(0) @binding(3) var<storage, read> known: array<f32>; // the same stats, on the way back
@group(0) @binding(4) var<storage, read> dy: array<f32>;
@group(0) @binding(5) var<storage, read_write> dx: array<f32>;
@group(0) @binding(1) var<storage, read> dy_of: array<f32>;
@group(0) @binding(2) var<storage, read> x_of: array<f32>;
@group(0) @binding(4) var<storage, read_write> parts: array<f32>; // [chunks, width]

@compute @workgroup_size(64)
fn forward(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let row = g.y * grid.x + g.x;
    if row >= p.rows { return; }
    let at = row * p.width;
    var s = 0.0;
    for (var i = t; i < p.width; i += W) { s += x[at + i]; }
    let mean = sum_of(s, t) / f32(p.width);
    s = 0.0;
    for (var i = t; i < p.width; i += W) { let d = x[at + i] - mean; s = fma(d, d, s); }
    let r = 1.0 / sqrt(sum_of(s, t) / f32(p.width) + p.eps);
    for (var i = t; i < p.width; i += W) {
        var v = (x[at + i] - mean) * r;
        if p.affine == 1u { v = fma(v, theta[p.gain_at + i], theta[p.bias_at + i]); }
        y[at + i] = v;
    }
    if t == 0u { stats[2u * row] = mean; stats[2u * row + 1u] = r; }
}

fn d_of(at: u32, i: u32) -> f32 {
    if p.affine == 1u { return dy[at + i] * theta[p.gain_at + i]; }
    return dy[at + i];
}

@compute @workgroup_size(64)
fn backward(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let row = g.y * grid.x + g.x;
    if row >= p.rows { return; }
    let at = row * p.width;
    let mean = known[2u * row];
    let r = known[2u * row + 1u];
    var s = 0.0;
    var q = 0.0;
    for (var i = t; i < p.width; i += W) {
        let d = d_of(at, i);
        s += d;
        q = fma(d, (x[at + i] - mean) * r, q);
    }
    let mean_d = sum_of(s, t) / f32(p.width);
    let mean_q = sum_of(q, t) / f32(p.width);
    for (var i = t; i < p.width; i += W) {
        let share = r * (d_of(at, i) - mean_d - (x[at + i] - mean) * r * mean_q);
        if p.add == 1u { dx[at + i] += share; } else { dx[at + i] = share; }
    }
}

// The gain's gradient, rows of one chunk; one thread for a column.
@compute @workgroup_size(64)
fn gain(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let column = g.x * W + t;
    if column >= p.width { return; }
    var s = 0.0;
    for (var row = g.y * p.chunk; row < min(p.rows, (g.y + 1u) * p.chunk); row++) {
        let at = row * p.width + column;
        s = fma(dy_of[at], (x_of[at] - known[2u * row]) * known[2u * row + 1u], s);
    }
    parts[g.y * p.width + column] = s;
}
