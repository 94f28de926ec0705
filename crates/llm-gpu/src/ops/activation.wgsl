// An activation, element by element: y = value(x), dx = dy·slope(x). Behind it stands the text of the two, and how y is stored.
struct Sizes { n: u32, inner: u32, add: u32 } // as a gate has them
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> dy: array<f32>;
@group(0) @binding(3) var<storage, read_write> dx: array<f32>;

fn number(i: u32) -> f32 { return value(x[i]); }

@compute @workgroup_size(256)
fn backward(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    for (var i = at.x; i < p.n; i += grid.x * 256u) {
        let share = dy[i] * slope(x[i]);
        if p.add == 1u { dx[i] += share; } else { dx[i] = share; }
    }
}
