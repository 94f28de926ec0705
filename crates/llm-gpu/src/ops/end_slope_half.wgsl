// The same, stored as f16, four at a time.
@group(0) @binding(5) var<storage, read_write> c: array<vec2<u32>>;
fn finish(at: u32, v: vec4<f32>, n: u32) {
    c[at / 4u] = f16_of(p.c_times * v * vec4(slope(d[at]), slope(d[at + 1u]), slope(d[at + 2u]), slope(d[at + 3u])));
}
fn finish_sum(at: u32, sum: f32) {}
