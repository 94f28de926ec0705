// m ← β₁·m + (1−β₁)·g,  v ← β₂·v + (1−β₂)·g²,  θ ← θ·(1 − lr·λ) − lr/c₁·m/(√v/√c₂ + ε), with g times what clipping
// leaves of it. A norm of all gradients that is not finite changes nothing. Those before `decayed` have a λ.
struct Sizes { first: u32, end: u32, decayed: u32 }
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read> u: array<f32>; // lr/c₁, 1/√c₂, lr·λ, what is left of g, β₁, β₂, ε
@group(0) @binding(2) var<storage, read> report: array<f32>; // loss, norm
@group(0) @binding(3) var<storage, read> g: array<f32>;
@group(0) @binding(4) var<storage, read_write> theta: array<f32>;
@group(0) @binding(5) var<storage, read_write> m: array<f32>;
@group(0) @binding(6) var<storage, read_write> v: array<f32>;

@compute @workgroup_size(256)
fn update(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    if !(report[1] < 3.4e38) { return; }
    for (var i = p.first + at.x; i < p.end; i += grid.x * 256u) {
        let x = g[i] * u[3];
        let first = fma(u[4], m[i], (1.0 - u[4]) * x);
        let second = fma(u[5], v[i], (1.0 - u[5]) * x * x);
        m[i] = first;
        v[i] = second;
        let kept = select(1.0, 1.0 - u[2], i < p.decayed);
        theta[i] = fma(theta[i], kept, -u[0] * (first / fma(sqrt(second), u[1], u[6])));
    }
}
