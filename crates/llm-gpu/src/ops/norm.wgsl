// What both norms have: y = x̂ or g ∘ x̂ (+ b), d = dy (∘ g), dg = Σ_rows dy ∘ x̂. Behind it stands the text of one, with
// `normed(v, row)`, the x̂ of a number v of a row, and behind that how y is stored.
struct Sizes { rows: u32, width: u32, eps: f32, affine: u32, gain_at: u32, bias_at: u32, add: u32, chunk: u32 }
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> theta: array<f32>; // gain and bias among all parameters
@group(0) @binding(3) var<storage, read_write> stats: array<f32>; // what is kept of each row
@group(0) @binding(3) var<storage, read> known: array<f32>; // the same stats, on the way back
@group(0) @binding(4) var<storage, read> dy: array<f32>;
@group(0) @binding(5) var<storage, read_write> dx: array<f32>;
@group(0) @binding(1) var<storage, read> dy_of: array<f32>;
@group(0) @binding(2) var<storage, read> x_of: array<f32>;
@group(0) @binding(4) var<storage, read_write> parts: array<f32>; // [chunks, width]

fn d_of(at: u32, i: u32) -> f32 {
    if p.affine == 1u { return dy[at + i] * theta[p.gain_at + i]; }
    return dy[at + i];
}

// The gain's gradient, rows of one chunk; one thread for a column.
@compute @workgroup_size(64)
fn gain(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let column = g.x * W + t;
    if column >= p.width { return; }
    var s = 0.0;
    for (var row = g.y * p.chunk; row < min(p.rows, (g.y + 1u) * p.chunk); row++) {
        let at = row * p.width + column;
        s = fma(dy_of[at], normed(x_of[at], row), s);
    }
    parts[g.y * p.width + column] = s;
}
