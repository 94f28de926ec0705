// x̂ = (x − μ)·r, r = 1/√(σ² + ε);  y = x̂ or g ∘ x̂ + b.
// With d = dy (∘ g): dx = r·(d − mean(d) − x̂·mean(d ∘ x̂));  dg = Σ_rows dy ∘ x̂ (db is a sum of columns).
fn normed(v: f32, row: u32) -> f32 { return (v - known[2u * row]) * known[2u * row + 1u]; }

fn number(at: u32, i: u32, mean: f32, r: f32) -> f32 {
    let v = (x[at + i] - mean) * r;
    if p.affine == 1u { return fma(v, theta[p.gain_at + i], theta[p.bias_at + i]); }
    return v;
}

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
    store(at, t, mean, r);
    if t == 0u { stats[2u * row] = mean; stats[2u * row + 1u] = r; }
}

@compute @workgroup_size(64)
fn backward(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let row = g.y * grid.x + g.x;
    if row >= p.rows { return; }
    let at = row * p.width;
    let r = known[2u * row + 1u];
    var s = 0.0;
    var q = 0.0;
    for (var i = t; i < p.width; i += W) {
        let d = d_of(at, i);
        s += d;
        q = fma(d, normed(x[at + i], row), q);
    }
    let mean_d = sum_of(s, t) / f32(p.width);
    let mean_q = sum_of(q, t) / f32(p.width);
    for (var i = t; i < p.width; i += W) {
        let share = r * (d_of(at, i) - mean_d - normed(x[at + i], row) * mean_q);
        if p.add == 1u { dx[at + i] += share; } else { dx[at + i] = share; }
    }
}
