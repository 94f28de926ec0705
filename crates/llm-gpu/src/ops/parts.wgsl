// A part of an axis: x is read as rows of `width`, its part as rows of `length` that begin at `start`.
struct Sizes { n: u32, length: u32, width: u32, start: u32, add: u32 } // n: numbers that are written
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

fn whole(i: u32) -> u32 { return i / p.length * p.width + p.start + i % p.length; }

// y, the part, of the whole x.
@compute @workgroup_size(256)
fn take(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    for (var i = at.x; i < p.n; i += grid.x * 256u) {
        let v = x[whole(i)];
        if p.add == 1u { y[i] += v; } else { y[i] = v; }
    }
}

// The part x into the whole y, of which the rest stays.
@compute @workgroup_size(256)
fn put(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    for (var i = at.x; i < p.n; i += grid.x * 256u) { y[whole(i)] = x[i]; }
}

// The part x as a whole y that is 0 elsewhere.
@compute @workgroup_size(256)
fn spread(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    for (var i = at.x; i < p.n; i += grid.x * 256u) {
        let column = i % p.width;
        var v = 0.0;
        if column >= p.start && column < p.start + p.length { v = x[i / p.width * p.length + column - p.start]; }
        if p.add == 1u { y[i] += v; } else { y[i] = v; }
    }
}
