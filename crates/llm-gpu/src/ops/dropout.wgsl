// y = m ∘ x (dx = m ∘ dy): m is 0 or 1/(1 − p), from 16 random bits each. The bits of a row are a ChaCha8 stream whose key
// is the seed, a word, the step, and the place with the row's number: those of the processor, to the bit.
struct Sizes { rows: u32, width: u32, each: u32, place: u32, threshold: u32, scale: f32, add: u32 } // each: rows of a sequence
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read> drawn: array<u32>; // seed, step, 64 bits each; the batch's first sequence
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

fn turn(v: u32, by: u32) -> u32 { return (v << by) | (v >> (32u - by)); }

fn quarter(s: ptr<function, array<u32, 16>>, a: u32, b: u32, c: u32, d: u32) {
    (*s)[a] += (*s)[b]; (*s)[d] = turn((*s)[d] ^ (*s)[a], 16u);
    (*s)[c] += (*s)[d]; (*s)[b] = turn((*s)[b] ^ (*s)[c], 12u);
    (*s)[a] += (*s)[b]; (*s)[d] = turn((*s)[d] ^ (*s)[a], 8u);
    (*s)[c] += (*s)[d]; (*s)[b] = turn((*s)[b] ^ (*s)[c], 7u);
}

// One thread for a block of the stream: 16 words, 32 numbers of a row.
@compute @workgroup_size(256)
fn apply(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    let blocks = (p.width + 31u) / 32u;
    for (var i = at.x; i < p.rows * blocks; i += grid.x * 256u) {
        let row = i / blocks;
        let block = i % blocks;
        let number = drawn[4] * p.each + row;
        // "expand 32-byte k", the key with "dropout" in it, the block's number, no nonce.
        var start = array<u32, 16>(0x61707865u, 0x3320646eu, 0x79622d32u, 0x6b206574u, drawn[0], drawn[1], 0x706f7264u,
            0x0074756fu, drawn[2], drawn[3], number, p.place << 8u, block, 0u, 0u, 0u);
        var s = start;
        for (var double = 0u; double < 4u; double++) {
            quarter(&s, 0u, 4u, 8u, 12u); quarter(&s, 1u, 5u, 9u, 13u);
            quarter(&s, 2u, 6u, 10u, 14u); quarter(&s, 3u, 7u, 11u, 15u);
            quarter(&s, 0u, 5u, 10u, 15u); quarter(&s, 1u, 6u, 11u, 12u);
            quarter(&s, 2u, 7u, 8u, 13u); quarter(&s, 3u, 4u, 9u, 14u);
        }
        let first = block * 32u;
        for (var j = 0u; j < min(32u, p.width - first); j++) {
            let word = s[j / 2u] + start[j / 2u];
            let bits = (word >> (16u * (j % 2u))) & 0xffffu;
            let v = select(x[row * p.width + first + j] * p.scale, 0.0, bits < p.threshold);
            let to = row * p.width + first + j;
            if p.add == 1u { y[to] += v; } else { y[to] = v; }
        }
    }
}
