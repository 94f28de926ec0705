// Four numbers of the gradient, as f16. In front stands how they are stored.
@group(0) @binding(4) var<storage, read_write> dqkv: array<vec2<u32>>;
fn put_gradient(at: u32, v: vec4<f32>) { dqkv[at] = f16_of(p.times * v); }
