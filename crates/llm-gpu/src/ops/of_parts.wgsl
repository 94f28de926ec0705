// y (+)= Σ over the rows of x, which are parts: of their first numbers at one place, of those behind them at another.
struct Sizes { rows: u32, width: u32, first: u32, at: u32, add: u32, rest_at: u32, rest_add: u32 }
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(256)
fn of_parts(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    for (var i = at.x; i < p.width; i += grid.x * 256u) {
        var s = 0.0;
        for (var row = 0u; row < p.rows; row++) { s += x[row * p.width + i]; }
        let is_first = i < p.first;
        let to = select(p.rest_at + i - p.first, p.at + i, is_first);
        if select(p.rest_add, p.add, is_first) == 1u { y[to] += s; } else { y[to] = s; }
    }
}
