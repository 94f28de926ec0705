// y, of which `number` makes each, as f16: four by a thread. In front stands how they are stored.
@group(0) @binding(2) var<storage, read_write> y: array<vec2<u32>>;
@compute @workgroup_size(256)
fn forward(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    for (var i = 4u * at.x; i < p.n; i += grid.x * 1024u) {
        y[i / 4u] = f16_of(vec4(number(i), number(i + 1u), number(i + 2u), number(i + 3u)));
    }
}
