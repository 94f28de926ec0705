// y[n] = w[id of n];  dw[id] = Σ dy[n] over the n that have this id, in rising order. Ids are the batch's tokens, or the
// places 0..T of every row. Where each token stands is sorted by the host: one writer for a number, no atomics. Of many places
// pieces are added up first, so that no thread has all those of a common token.
const PIECE: u32 = 32u;
struct Sizes { rows: u32, width: u32, t: u32, v: u32, at: u32, add: u32 } // rows: B·T; at: where w begins
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read> theta: array<f32>;
@group(0) @binding(2) var<storage, read> tokens: array<u32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> y_of_places: array<f32>;
@group(0) @binding(3) var<storage, read> place: array<u32>;
@group(0) @binding(1) var<storage, read> dy: array<f32>;
@group(0) @binding(2) var<storage, read> sorted: array<u32>; // starts [V+1], then places [B·T]
@group(0) @binding(3) var<storage, read_write> grads: array<f32>;
@group(0) @binding(3) var<storage, read_write> of_pieces: array<f32>; // [pieces, width]
@group(0) @binding(4) var<storage, read> pieces: array<f32>;
@group(0) @binding(2) var<storage, read_write> grads_of_places: array<f32>;

@compute @workgroup_size(256)
fn by_token(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    for (var i = at.x; i < p.rows * p.width; i += grid.x * 256u) {
        y[i] = theta[p.at + tokens[i / p.width] * p.width + i % p.width];
    }
}

@compute @workgroup_size(256)
fn by_place(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    for (var i = at.x; i < p.rows * p.width; i += grid.x * 256u) {
        let v = theta[p.at + (i / p.width) % p.t * p.width + i % p.width];
        if p.add == 1u { y_of_places[i] += v; } else { y_of_places[i] = v; }
    }
}

// Of a text that grows: all rows are at one place.
@compute @workgroup_size(256)
fn by_one_place(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    for (var i = at.x; i < p.rows * p.width; i += grid.x * 256u) {
        let v = theta[p.at + place[0] * p.width + i % p.width];
        if p.add == 1u { y_of_places[i] += v; } else { y_of_places[i] = v; }
    }
}

@compute @workgroup_size(256)
fn back_to_tokens(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    for (var i = at.x; i < p.v * p.width; i += grid.x * 256u) {
        let id = i / p.width;
        var s = 0.0;
        for (var n = sorted[id]; n < sorted[id + 1u]; n++) { s += dy[sorted[p.v + 1u + n] * p.width + i % p.width]; }
        if p.add == 1u { grads[p.at + i] += s; } else { grads[p.at + i] = s; }
    }
}

// Σ dy of PIECE places, as they are sorted.
@compute @workgroup_size(256)
fn add_pieces(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    for (var i = at.x; i < (p.rows + PIECE - 1u) / PIECE * p.width; i += grid.x * 256u) {
        let first = i / p.width * PIECE;
        var s = 0.0;
        for (var n = first; n < min(p.rows, first + PIECE); n++) { s += dy[sorted[p.v + 1u + n] * p.width + i % p.width]; }
        of_pieces[i] = s;
    }
}

@compute @workgroup_size(256)
fn pieces_to_tokens(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    for (var i = at.x; i < p.v * p.width; i += grid.x * 256u) {
        let end = sorted[i / p.width + 1u];
        var s = 0.0;
        for (var n = sorted[i / p.width]; n < end;) {
            if n % PIECE == 0u && n + PIECE <= end {
                s += pieces[n / PIECE * p.width + i % p.width];
                n += PIECE;
            } else {
                s += dy[sorted[p.v + 1u + n] * p.width + i % p.width];
                n += 1u;
            }
        }
        if p.add == 1u { grads[p.at + i] += s; } else { grads[p.at + i] = s; }
    }
}

@compute @workgroup_size(256)
fn back_to_places(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    for (var i = at.x; i < p.v * p.width; i += grid.x * 256u) {
        var s = 0.0; // places behind T stay at 0
        if i / p.width < p.t { for (var n = i / p.width; n < p.rows; n += p.t) { s += dy[n * p.width + i % p.width]; } }
        if p.add == 1u { grads_of_places[p.at + i] += s; } else { grads_of_places[p.at + i] = s; }
    }
}
