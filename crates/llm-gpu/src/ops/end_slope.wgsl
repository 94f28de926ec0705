// The number is what an activation's own number would have had of the loss: times its slope, at what it read.
@group(0) @binding(5) var<storage, read_write> c: array<f32>;
fn finish(at: u32, v: vec4<f32>, n: u32) {
    for (var i = 0u; i < 4u; i++) {
        if i < n {
            let share = v[i] * slope(d[at + i]);
            if p.add == 1u { c[at + i] += share; } else { c[at + i] = share; }
        }
    }
}
fn finish_sum(at: u32, sum: f32) {}
