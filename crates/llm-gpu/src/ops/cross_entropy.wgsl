// losses[n] = ln Σ e^logits − logits[target];  dlogits = (softmax(logits) − 1{target})·share, 1/counted of a step's
// one micro-batch.
// An ignored target costs nothing and gets no gradient.
struct Sizes { rows: u32, v: u32 }
const IGNORED: u32 = 0xffffffffu;
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read> targets: array<u32>;
@group(0) @binding(3) var<storage, read_write> lse: array<f32>;
@group(0) @binding(4) var<storage, read_write> losses: array<f32>;
@group(0) @binding(3) var<storage, read> known: array<f32>; // the same lse
@group(0) @binding(4) var<storage, read> share: array<f32>; // [0]: what one target counts
@group(0) @binding(5) var<storage, read_write> dlogits: array<f32>;

@compute @workgroup_size(64)
fn forward(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let row = g.y * grid.x + g.x;
    if row >= p.rows { return; }
    let at = row * p.v;
    var most = -3.4e38;
    for (var i = t; i < p.v; i += W) { most = max(most, logits[at + i]); }
    most = greatest_of(most, t);
    var sum = 0.0;
    for (var i = t; i < p.v; i += W) { sum += exp(logits[at + i] - most); }
    let all = most + log(sum_of(sum, t));
    if t == 0u {
        lse[row] = all;
        let wanted = targets[row];
        var loss = 0.0;
        if wanted != IGNORED { loss = all - logits[at + wanted]; }
        losses[row] = loss;
    }
}

@compute @workgroup_size(64)
fn backward(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let row = g.y * grid.x + g.x;
    if row >= p.rows { return; }
    let at = row * p.v;
    let wanted = targets[row];
    let each = select(share[0], 0.0, wanted == IGNORED);
    for (var i = t; i < p.v; i += W) {
        dlogits[at + i] = (exp(logits[at + i] - known[row]) - select(0.0, 1.0, i == wanted)) * each;
    }
}
