// θ ← θ·(1 − lr·λ) − lr·sign(β₁·m + (1−β₁)·g),  m ← β₂·m + (1−β₂)·g, with g times what clipping leaves of it. A norm of all
// gradients that is not finite changes nothing. Those before `decayed` have a λ.
struct Sizes { first: u32, end: u32, decayed: u32 }
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read> u: array<f32>; // [2] lr·λ, [3] what is left of g, [4] β₁, [5] β₂, [7] lr
@group(0) @binding(2) var<storage, read> report: array<f32>; // loss, norm
@group(0) @binding(3) var<storage, read> g: array<f32>;
@group(0) @binding(4) var<storage, read_write> theta: array<f32>;
@group(0) @binding(5) var<storage, read_write> m: array<f32>;

@compute @workgroup_size(256)
fn update(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    if !(report[1] < 3.4e38) { return; }
    for (var i = p.first + at.x; i < p.end; i += grid.x * 256u) {
        let x = g[i] * u[3];
        let along = sign(fma(u[4], m[i], (1.0 - u[4]) * x));
        let kept = select(1.0, 1.0 - u[2], i < p.decayed);
        theta[i] = fma(theta[i], kept, -u[7] * along);
        m[i] = fma(u[5], m[i], (1.0 - u[5]) * x);
    }
}
