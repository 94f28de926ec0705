// Scores with a soft cap c, element by element: s ← c·tanh(s/c). On the way back, over dS: dS ← dS·(1 − tanh²(s/c)).
// Hidden ones are never read, and may be anything; their dS is 0.
struct Sizes { n: u32, cap: f32 }
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read_write> s: array<f32>;
@group(0) @binding(2) var<storage, read> scores: array<f32>;

fn in_cap(s: f32) -> f32 { return tanh(clamp(s / p.cap, -10.0, 10.0)); }

@compute @workgroup_size(256)
fn forward(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    for (var i = at.x; i < p.n; i += grid.x * 256u) { s[i] = p.cap * in_cap(s[i]); }
}

@compute @workgroup_size(256)
fn backward(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    for (var i = at.x; i < p.n; i += grid.x * 256u) {
        if s[i] != 0.0 { s[i] *= 1.0 - in_cap(scores[i]) * in_cap(scores[i]); }
    }
}
