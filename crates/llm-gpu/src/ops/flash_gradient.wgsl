// Four numbers of the gradient, as they are.
@group(0) @binding(4) var<storage, read_write> dqkv: array<vec4<f32>>;
fn put_gradient(at: u32, v: vec4<f32>) { dqkv[at] = v; }
