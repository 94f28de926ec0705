// An activation reads the number, and its own number stands beside it: c and value(c). In front stands the text of the two.
@group(0) @binding(5) var<storage, read_write> c: array<f32>;
@group(0) @binding(6) var<storage, read_write> e: array<f32>;
fn finish(at: u32, v: vec4<f32>, n: u32) {
    for (var i = 0u; i < 4u; i++) {
        if i < n {
            c[at + i] = v[i];
            e[at + i] = value(v[i]);
        }
    }
}
fn finish_sum(at: u32, sum: f32) {}
