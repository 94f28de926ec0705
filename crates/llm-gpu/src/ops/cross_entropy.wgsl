// losses[n] = ln Σ e^logits − logits[target];  dlogits = (softmax(logits) − 1{target})·share, 1/counted of a step's
// one micro-batch.
// An ignored target costs nothing and gets no gradient.
struct Sizes { rows: u32, v: u32, first: u32, all: u32 } // of a piece of all rows, whose first is this one of them
const IGNORED: u32 = 0xffffffffu;
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read> targets: array<u32>;
@group(0) @binding(3) var<storage, read_write> stats: array<f32>; // of each row the greatest logit, and 1/Σ e^(logit − that)
@group(0) @binding(4) var<storage, read_write> losses: array<f32>;
@group(0) @binding(3) var<storage, read_write> scores: array<f32>; // losses, then 1 where the target is the first choice
@group(0) @binding(3) var<storage, read> known: array<f32>; // the same stats
@group(0) @binding(4) var<storage, read> share: array<f32>; // [0]: what one target counts
@group(0) @binding(1) var<storage, read_write> both: array<f32>; // logits, and then their gradient in their place

// Not their ln Σ: a driver's logarithm may be so loose that a softmax from it is off by several last bits, all one way.
fn stats_of(at: u32, t: u32) -> vec2<f32> {
    var most = -3.4e38;
    for (var i = t; i < p.v; i += W) { most = max(most, logits[at + i]); }
    most = greatest_of(most, t);
    var sum = 0.0;
    for (var i = t; i < p.v; i += W) { sum += exp(logits[at + i] - most); }
    return vec2(most, sum_of(sum, t));
}

@compute @workgroup_size(64)
fn forward(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    if g.y * grid.x + g.x >= p.rows { return; }
    let at = (g.y * grid.x + g.x) * p.v;
    let row = p.first + g.y * grid.x + g.x;
    let all = stats_of(at, t);
    if t == 0u {
        stats[2u * row] = all.x;
        stats[2u * row + 1u] = 1.0 / all.y;
        let wanted = targets[row];
        var loss = 0.0;
        if wanted != IGNORED { loss = all.x + log(all.y) - logits[at + wanted]; }
        losses[row] = loss;
    }
}

@compute @workgroup_size(64)
fn backward(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    if g.y * grid.x + g.x >= p.rows { return; }
    let at = (g.y * grid.x + g.x) * p.v;
    let row = p.first + g.y * grid.x + g.x;
    let wanted = targets[row];
    let each = select(share[0], 0.0, wanted == IGNORED);
    for (var i = t; i < p.v; i += W) {
        both[at + i] = (exp(both[at + i] - known[2u * row]) * known[2u * row + 1u] - select(0.0, 1.0, i == wanted)) * each;
    }
}

// The loss of a place, and whether its target has the greatest logit, the first of equals.
@compute @workgroup_size(64)
fn score(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    if g.y * grid.x + g.x >= p.rows { return; }
    let at = (g.y * grid.x + g.x) * p.v;
    let row = p.first + g.y * grid.x + g.x;
    let all = stats_of(at, t);
    let wanted = targets[row];
    let mine = logits[at + min(wanted, p.v - 1u)];
    var before = 0.0;
    for (var i = t; i < p.v; i += W) {
        let x = logits[at + i];
        // Written so that a number that is none is before all.
        if i != wanted && !(x < mine || (x == mine && i > wanted)) { before += 1.0; }
    }
    before = sum_of(before, t);
    if t == 0u {
        scores[row] = select(all.x + log(all.y) - mine, 0.0, wanted == IGNORED);
        scores[p.all + row] = select(0.0, 1.0, before == 0.0 && wanted != IGNORED);
    }
}
