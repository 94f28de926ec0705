// y = a + b;  y = x;  y ← y + x;  element by element.
struct Sizes { n: u32 }
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> sum: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(256)
fn add(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    for (var i = at.x; i < p.n; i += grid.x * 256u) { sum[i] = a[i] + b[i]; }
}

@compute @workgroup_size(256)
fn copy(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    for (var i = at.x; i < p.n; i += grid.x * 256u) { y[i] = a[i]; }
}

@compute @workgroup_size(256)
fn accumulate(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    for (var i = at.x; i < p.n; i += grid.x * 256u) { y[i] += a[i]; }
}
