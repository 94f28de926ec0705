// y = silu(a) ∘ u, the halves of each row of x;  da = dy ∘ u ∘ silu′(a), du = dy ∘ silu(a).
// Behind it stands how y is stored.
struct Sizes { n: u32, inner: u32, add: u32 } // n: numbers of y
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> dy: array<f32>;
@group(0) @binding(3) var<storage, read_write> dx: array<f32>;

fn number(i: u32) -> f32 {
    let j = i + (i / p.inner) * p.inner; // where its a stands
    let a = x[j];
    return a * sigmoid(a) * x[j + p.inner];
}

@compute @workgroup_size(256)
fn backward(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    for (var i = at.x; i < p.n; i += grid.x * 256u) {
        let j = i + (i / p.inner) * p.inner;
        let a = x[j];
        let s = sigmoid(a);
        let da = dy[i] * x[j + p.inner] * fma(a * s, 1.0 - s, s);
        let du = dy[i] * a * s;
        if p.add == 1u {
            dx[j] += da;
            dx[j + p.inner] += du;
        } else {
            dx[j] = da;
            dx[j + p.inner] = du;
        }
    }
}
