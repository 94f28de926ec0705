// A query behind `place` others of its text: its key and value join those of the others, and y = Σ_j P_j·v_j over the keys j that it
// sees, P_j = e^(s_j − max s) / Σ, s_j = scale·q·k_j, with a soft cap c·tanh(s_j/c).
struct Sizes { t: u32, window: u32, heads: u32, groups: u32, d: u32, scale: f32, cap: f32 } // t: the most places
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read> qkv: array<f32>; // [(H + 2G)·D]
@group(0) @binding(2) var<storage, read> place: array<u32>;
@group(0) @binding(3) var<storage, read_write> cache: array<f32>; // [T, 2G·D]: keys, values
@group(0) @binding(4) var<storage, read_write> weights: array<f32>; // [H, T]
@group(0) @binding(5) var<storage, read_write> y: array<f32>; // [H·D]

@compute @workgroup_size(64)
fn join(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    let row = 2u * p.groups * p.d;
    for (var i = at.x; i < row; i += grid.x * 64u) { cache[place[0] * row + i] = qkv[p.heads * p.d + i]; }
}

@compute @workgroup_size(64)
fn step(@builtin(workgroup_id) w: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let h = w.x;
    let g = h / (p.heads / p.groups);
    let end = place[0] + 1u;
    let first = select(0u, end - p.window, end > p.window);
    let row = 2u * p.groups * p.d;
    var most = -3.4e38;
    for (var j = first + t; j < end; j += W) {
        var s = 0.0;
        for (var c = 0u; c < p.d; c++) { s = fma(qkv[h * p.d + c], cache[j * row + g * p.d + c], s); }
        s *= p.scale;
        if p.cap > 0.0 { s = p.cap * tanh(clamp(s / p.cap, -10.0, 10.0)); }
        weights[h * p.t + j] = s;
        most = max(most, s);
    }
    most = greatest_of(most, t);
    var sum = 0.0;
    for (var j = first + t; j < end; j += W) {
        let e = exp(weights[h * p.t + j] - most);
        weights[h * p.t + j] = e;
        sum += e;
    }
    sum = sum_of(sum, t);
    storageBarrier(); // the weights of all threads are there
    for (var c = t; c < p.d; c += W) {
        var v = 0.0;
        for (var j = first; j < end; j++) { v = fma(weights[h * p.t + j], cache[j * row + (p.groups + g) * p.d + c], v); }
        y[h * p.d + c] = v / sum;
    }
}
