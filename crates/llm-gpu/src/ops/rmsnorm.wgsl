// x̂ = r·x, r = 1/√(mean(x²) + ε);  y = x̂ or g ∘ x̂.
// With d = dy (∘ g): dx = r·(d − x̂·mean(d ∘ x̂));  dg = Σ_rows dy ∘ x̂.
struct Sizes { rows: u32, width: u32, eps: f32, affine: u32, gain_at: u32, add: u32, chunk: u32 }
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> theta: array<f32>;
@group(0) @binding(3) var<storage, read_write> stats: array<f32>; // of each row r
@group(0) @binding(4) var<storage, read_write> y: array<f32>;
@group(0) @binding(3) var<storage, read> known: array<f32>;
@group(0) @binding(4) var<storage, read> dy: array<f32>;
@group(0) @binding(5) var<storage, read_write> dx: array<f32>;
@group(0) @binding(1) var<storage, read> dy_of: array<f32>;
@group(0) @binding(2) var<storage, read> x_of: array<f32>;
@group(0) @binding(4) var<storage, read_write> parts: array<f32>;

@compute @workgroup_size(64)
fn forward(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let row = g.y * grid.x + g.x;
    if row >= p.rows { return; }
    let at = row * p.width;
    var s = 0.0;
    for (var i = t; i < p.width; i += W) { s = fma(x[at + i], x[at + i], s); }
    let r = 1.0 / sqrt(sum_of(s, t) / f32(p.width) + p.eps);
    for (var i = t; i < p.width; i += W) {
        var v = x[at + i] * r;
        if p.affine == 1u { v *= theta[p.gain_at + i]; }
        y[at + i] = v;
    }
    if t == 0u { stats[row] = r; }
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
    let r = known[row];
    var q = 0.0;
    for (var i = t; i < p.width; i += W) { q = fma(d_of(at, i), x[at + i] * r, q); }
    let mean_q = sum_of(q, t) / f32(p.width);
    for (var i = t; i < p.width; i += W) {
        let share = r * (d_of(at, i) - x[at + i] * r * mean_q);
        if p.add == 1u { dx[at + i] += share; } else { dx[at + i] = share; }
    }
}

@compute @workgroup_size(64)
fn gain(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let column = g.x * W + t;
    if column >= p.width { return; }
    var s = 0.0;
    for (var row = g.y * p.chunk; row < min(p.rows, (g.y + 1u) * p.chunk); row++) {
        let at = row * p.width + column;
        s = fma(dy_of[at], x_of[at] * known[row], s);
    }
    parts[g.y * p.width + column] = s;
}
