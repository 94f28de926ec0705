// Row i of each [T, T] of scores, in place: P[i, j] = e^(s − max)/Σ over the keys that i sees, 0 elsewhere.
// On the way back, over dP: dS = P ∘ (dP − Σⱼ P·dP).
struct Sizes { t: u32, window: u32 }
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read_write> s: array<f32>;
@group(0) @binding(2) var<storage, read> weights: array<f32>;

fn first_key(i: u32) -> u32 { return select(0u, i + 1u - p.window, i + 1u > p.window); }

@compute @workgroup_size(64)
fn forward(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let at = (g.y * p.t + g.x) * p.t;
    let first = first_key(g.x);
    let end = g.x + 1u;
    var most = -3.4e38;
    for (var j = first + t; j < end; j += W) { most = max(most, s[at + j]); }
    most = greatest_of(most, t);
    var sum = 0.0;
    for (var j = first + t; j < end; j += W) {
        let e = exp(s[at + j] - most);
        s[at + j] = e;
        sum += e;
    }
    let each = 1.0 / sum_of(sum, t);
    // A key was written by the thread first + t, and is read by it again: others have other ones.
    for (var j = first + t; j < end; j += W) { s[at + j] *= each; }
    for (var j = t; j < p.t; j += W) { if j < first || j >= end { s[at + j] = 0.0; } }
}

@compute @workgroup_size(64)
fn backward(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let at = (g.y * p.t + g.x) * p.t;
    let first = first_key(g.x);
    let end = g.x + 1u;
    var sum = 0.0;
    for (var j = first + t; j < end; j += W) { sum = fma(weights[at + j], s[at + j], sum); }
    sum = sum_of(sum, t);
    for (var j = t; j < p.t; j += W) {
        if j >= first && j < end { s[at + j] = weights[at + j] * (s[at + j] - sum); } else { s[at + j] = 0.0; }
    }
}
