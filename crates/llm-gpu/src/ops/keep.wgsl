// x of a head that is switched off ← 0. A bit for each head says which are on.
struct Sizes { n: u32, width: u32, head: u32, nothing: u32, on: vec4<u32> }
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;

@compute @workgroup_size(256)
fn keep(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    for (var i = at.x; i < p.n; i += grid.x * 256u) {
        let head = i % p.width / p.head;
        if (p.on[head / 32u] >> (head % 32u) & 1u) == 0u { x[i] = 0.0; }
    }
}
