// y[i] = x[i]·cos − x[i + R/2]·sin,  y[i + R/2] = x[i]·sin + x[i + R/2]·cos  for the first R channels of the first heads of
// a row; the others as they are. dx is dy turned the other way: `way` is 1, or −1.
struct Sizes { n: u32, width: u32, heads: u32, head: u32, half: u32, t: u32, way: f32, add: u32 } // half: R/2
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> angles: array<f32>; // [T, 2, R/2]: cosines, sines
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

@group(0) @binding(4) var<storage, read> place: array<u32>;

@compute @workgroup_size(256)
fn turn(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    for (var n = at.x; n < p.n; n += grid.x * 256u) { turn_number(n, n / p.width % p.t); }
}

// Of a text that grows: all rows are at one place.
@compute @workgroup_size(256)
fn turn_one(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    for (var n = at.x; n < p.n; n += grid.x * 256u) { turn_number(n, place[0]); }
}

fn turn_number(n: u32, position: u32) {
    let channel = n % p.width;
    let i = channel % p.head;
    var v = x[n];
    if channel < p.heads * p.head && i < 2u * p.half {
        let pair = i % p.half;
        let row = position * 2u * p.half;
        let cosine = angles[row + pair];
        let sine = p.way * angles[row + p.half + pair];
        if i < p.half { v = fma(v, cosine, -(x[n + p.half] * sine)); } else { v = fma(x[n - p.half], sine, v * cosine); }
    }
    if p.add == 1u { y[n] += v; } else { y[n] = v; }
}
