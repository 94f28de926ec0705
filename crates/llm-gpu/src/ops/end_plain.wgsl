// A product's number is what was wanted.
@group(0) @binding(5) var<storage, read_write> c: array<f32>;
fn finish(at: u32, v: vec4<f32>, n: u32) {
    for (var i = 0u; i < 4u; i++) {
        if i < n { if p.add == 1u { c[at + i] += v[i]; } else { c[at + i] = v[i]; } }
    }
}
fn finish_sum(at: u32, sum: f32) { if p.sums_add == 1u { c[at] += sum; } else { c[at] = sum; } }
