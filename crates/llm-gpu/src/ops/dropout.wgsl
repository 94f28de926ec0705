// y = m ∘ x (dx = m ∘ dy): m is 0 or 1/(1 − p), from 16 random bits each. In front of this text stands the stream of them.
struct Sizes { rows: u32, width: u32, each: u32, place: u32, threshold: u32, scale: f32, add: u32 } // each: rows of a sequence
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read> drawn: array<u32>; // seed, step, 64 bits each; the batch's first sequence
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

// One thread for a block of the stream: 32 numbers of a row.
@compute @workgroup_size(256)
fn apply(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    let blocks = (p.width + 31u) / 32u;
    for (var i = at.x; i < p.rows * blocks; i += grid.x * 256u) {
        let row = i / blocks;
        let block = i % blocks;
        var bits = block_of(vec4(drawn[0], drawn[1], drawn[2], drawn[3]), drawn[4] * p.each + row, p.place, block);
        let first = block * 32u;
        for (var j = 0u; j < min(32u, p.width - first); j++) {
            let to = row * p.width + first + j;
            let v = select(x[to] * p.scale, 0.0, bits_of(&bits, j) < p.threshold);
            if p.add == 1u { y[to] += v; } else { y[to] = v; }
        }
    }
}
