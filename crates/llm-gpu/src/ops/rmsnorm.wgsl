// x̂ = r·x, r = 1/√(mean(x²) + ε);  y = x̂ or g ∘ x̂.
// With d = dy (∘ g): dx = r·(d − x̂·mean(d ∘ x̂));  dg = Σ_rows dy ∘ x̂.
fn normed(v: f32, row: u32) -> f32 { return v * known[row]; }

fn number(at: u32, i: u32, mean: f32, r: f32) -> f32 {
    let v = x[at + i] * r;
    if p.affine == 1u { return v * theta[p.gain_at + i]; }
    return v;
}

@compute @workgroup_size(64)
fn forward(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let row = g.y * grid.x + g.x;
    if row >= p.rows { return; }
    let at = row * p.width;
    var s = 0.0;
    for (var i = t; i < p.width; i += W) { s = fma(x[at + i], x[at + i], s); }
    let r = 1.0 / sqrt(sum_of(s, t) / f32(p.width) + p.eps);
    store(at, t, 0.0, r);
    if t == 0u { stats[row] = r; }
}

@compute @workgroup_size(64)
fn backward(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let row = g.y * grid.x + g.x;
    if row >= p.rows { return; }
    let at = row * p.width;
    let r = known[row];
    var q = 0.0;
    for (var i = t; i < p.width; i += W) { q = fma(d_of(at, i), normed(x[at + i], row), q); }
    let mean_q = sum_of(q, t) / f32(p.width);
    for (var i = t; i < p.width; i += W) {
        let share = r * (d_of(at, i) - normed(x[at + i], row) * mean_q);
        if p.add == 1u { dx[at + i] += share; } else { dx[at + i] = share; }
    }
}
