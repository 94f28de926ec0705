// Sums in a fixed order: of columns (a bias's gradient), of everything (the loss, the norm).
struct Sizes { rows: u32, width: u32, chunk: u32, at: u32, add: u32 }
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<storage, read> share: array<f32>; // what one target counts; 1 behind the first micro-batch
@group(0) @binding(3) var<storage, read_write> report: array<f32>; // loss, norm, whether one was not finite
@group(0) @binding(3) var<storage, read> told: array<f32>; // [2]: 1 where what is not finite holds all later steps, too
@group(0) @binding(3) var<storage, read_write> total: array<f32>;
var<workgroup> part: array<f32, 256>;

// y[chunk, column] = Σ of the rows of a chunk.
@compute @workgroup_size(64)
fn columns(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let column = g.x * 64u + t;
    if column >= p.width { return; }
    var s = 0.0;
    for (var row = g.y * p.chunk; row < min(p.rows, (g.y + 1u) * p.chunk); row++) { s += x[row * p.width + column]; }
    y[g.y * p.width + column] = s;
}

// The step's gradient is that of its first micro-batch, and each later one is added to it.
@compute @workgroup_size(256)
fn add_up(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    for (var i = at.x; i < p.width; i += grid.x * 256u) {
        if share[1] == 1.0 { total[i] += x[i]; } else { total[i] = x[i]; }
    }
}

fn sum_of(s: f32, t: u32) -> f32 {
    part[t] = s;
    for (var half = 128u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if t < half { part[t] += part[t + half]; }
    }
    return part[0];
}

// y[at + workgroup] = Σ x² of every so many numbers.
@compute @workgroup_size(256)
fn squares(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    var s = 0.0;
    for (var i = g.x * 256u + t; i < p.width; i += grid.x * 256u) { s = fma(x[i], x[i], s); }
    s = sum_of(s, t);
    if t == 0u { y[p.at + g.x] = s; }
}

@compute @workgroup_size(256)
fn mean_loss(@builtin(local_invocation_index) t: u32) {
    var s = 0.0;
    for (var i = t; i < p.width; i += 256u) { s += x[i]; }
    s = sum_of(s, t);
    if t == 0u { report[0] = select(0.0, report[0], share[1] == 1.0) + s * share[0]; }
}

@compute @workgroup_size(256)
fn root(@builtin(local_invocation_index) t: u32) {
    var s = 0.0;
    for (var i = t; i < p.width; i += 256u) { s += x[i]; }
    s = sum_of(s, t);
    if t != 0u { return; }
    y[1] = sqrt(s);
    let is_lost = !(y[1] < 3.4e38) || !(abs(y[0]) < 3.4e38);
    if told[2] == 1.0 && (is_lost || y[2] == 1.0) {
        y[1] = bitcast<f32>(0x7f7fffffu + u32(told[2])); // +∞: no update
        y[2] = 1.0;
    }
}

// y[at] ← min(1, c/(norm + 10⁻⁶)), c the norm that may be, which stands there; 0: no clipping.
@compute @workgroup_size(1)
fn clip() {
    let c = y[p.at];
    y[p.at] = select(1.0, min(1.0, c / (x[1] + 1e-6)), c > 0.0);
}
