// A row of y, of which `number` makes each, as f16: four by a thread. In front stands how they are stored.
@group(0) @binding(4) var<storage, read_write> y: array<vec2<u32>>;
fn store(at: u32, t: u32, mean: f32, r: f32) {
    for (var i = 4u * t; i < p.width; i += 4u * W) {
        let v = vec4(number(at, i, mean, r), number(at, i + 1u, mean, r), number(at, i + 2u, mean, r), number(at, i + 3u, mean, r));
        y[(at + i) / 4u] = f16_of(v);
    }
}
