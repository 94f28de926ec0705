// The same, of which the activation's own numbers are stored as f16, four at a time.
@group(0) @binding(5) var<storage, read_write> c: array<f32>;
@group(0) @binding(6) var<storage, read_write> e: array<vec2<u32>>;
fn finish(at: u32, v: vec4<f32>, n: u32) {
    for (var i = 0u; i < 4u; i++) { c[at + i] = v[i]; }
    e[at / 4u] = f16_of(vec4(value(v.x), value(v.y), value(v.z), value(v.w)));
}
fn finish_sum(at: u32, sum: f32) {}
