// A row of y, of which `number` makes each, as they are.
@group(0) @binding(4) var<storage, read_write> y: array<f32>;
fn store(at: u32, t: u32, mean: f32, r: f32) {
    for (var i = t; i < p.width; i += W) { y[at + i] = number(at, i, mean, r); }
}
