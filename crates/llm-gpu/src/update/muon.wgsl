// m ← μ·m + (1−μ)·g,  x = μ·m + (1−μ)·g, with g times what clipping leaves of it;  each matrix of x divided by its norm, and
// then, by products of other kernels, made orthogonal;  θ ← θ·(1 − lr·λ) − lr·x. All three arrays lie as θ's first n numbers
// do, the hidden matrices. A norm of all gradients that is not finite changes neither m nor θ.
struct Sizes { n: u32, at: u32, rows: u32, columns: u32, row: u32, inner: u32, outer_step: u32, inner_step: u32 }
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read> u: array<f32>; // [2] lr·λ, [3] what is left of g, [7] lr, [8] μ
@group(0) @binding(2) var<storage, read> report: array<f32>; // loss, norm
@group(0) @binding(3) var<storage, read> g: array<f32>;
@group(0) @binding(4) var<storage, read_write> m: array<f32>;
@group(0) @binding(5) var<storage, read_write> ahead: array<f32>;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;
@group(0) @binding(3) var<storage, read> made: array<f32>; // x, orthogonal
@group(0) @binding(4) var<storage, read_write> theta: array<f32>;
var<workgroup> part: array<f32, 256>;

@compute @workgroup_size(256)
fn look_ahead(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    if !(report[1] < 3.4e38) { return; }
    for (var i = at.x; i < p.n; i += grid.x * 256u) {
        let share = (1.0 - u[8]) * u[3] * g[i];
        m[i] = fma(u[8], m[i], share);
        ahead[i] = fma(u[8], m[i], share);
    }
}

// One workgroup for a matrix, the z-th of a group of equal ones.
@compute @workgroup_size(256)
fn unit(@builtin(workgroup_id) z: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let first = p.at + z.x / p.inner * p.outer_step + z.x % p.inner * p.inner_step;
    let all = p.rows * p.columns;
    var s = 0.0;
    for (var i = t; i < all; i += 256u) {
        let v = x[first + i / p.columns * p.row + i % p.columns];
        s = fma(v, v, s);
    }
    part[t] = s;
    for (var half = 128u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if t < half { part[t] += part[t + half]; }
    }
    workgroupBarrier();
    let norm = sqrt(part[0]) + 1e-7;
    for (var i = t; i < all; i += 256u) { x[first + i / p.columns * p.row + i % p.columns] /= norm; }
}

@compute @workgroup_size(256)
fn follow(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    if !(report[1] < 3.4e38) { return; }
    for (var i = at.x; i < p.n; i += grid.x * 256u) { theta[i] = fma(theta[i], 1.0 - u[2], -u[7] * made[i]); }
}
