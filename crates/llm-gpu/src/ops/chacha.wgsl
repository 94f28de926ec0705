// A block of a ChaCha8 stream (Bernstein 2008) whose key is the seed, a word, the step, and a place with a row's number: the
// processor's, to the bit. Each of its 16 words decides for two numbers of the row.
fn turn(v: u32, by: u32) -> u32 { return (v << by) | (v >> (32u - by)); }

fn quarter(s: ptr<function, array<u32, 16>>, a: u32, b: u32, c: u32, d: u32) {
    (*s)[a] += (*s)[b]; (*s)[d] = turn((*s)[d] ^ (*s)[a], 16u);
    (*s)[c] += (*s)[d]; (*s)[b] = turn((*s)[b] ^ (*s)[c], 12u);
    (*s)[a] += (*s)[b]; (*s)[d] = turn((*s)[d] ^ (*s)[a], 8u);
    (*s)[c] += (*s)[d]; (*s)[b] = turn((*s)[b] ^ (*s)[c], 7u);
}

// `drawn`: seed and step, 64 bits each.
fn block_of(drawn: vec4<u32>, row: u32, place: u32, block: u32) -> array<u32, 16> {
    // "expand 32-byte k", the key with "dropout" in it, the block's number, no nonce.
    let start = array<u32, 16>(0x61707865u, 0x3320646eu, 0x79622d32u, 0x6b206574u, drawn.x, drawn.y, 0x706f7264u,
        0x0074756fu, drawn.z, drawn.w, row, place << 8u, block, 0u, 0u, 0u);
    var s = start;
    for (var double = 0u; double < 4u; double++) {
        quarter(&s, 0u, 4u, 8u, 12u); quarter(&s, 1u, 5u, 9u, 13u);
        quarter(&s, 2u, 6u, 10u, 14u); quarter(&s, 3u, 7u, 11u, 15u);
        quarter(&s, 0u, 5u, 10u, 15u); quarter(&s, 1u, 6u, 11u, 12u);
        quarter(&s, 2u, 7u, 8u, 13u); quarter(&s, 3u, 4u, 9u, 14u);
    }
    for (var i = 0u; i < 16u; i++) { s[i] += start[i]; }
    return s;
}

// The 16 bits of a block that decide for its j-th number: it is dropped where they are below a threshold.
fn bits_of(block: ptr<function, array<u32, 16>>, j: u32) -> u32 { return ((*block)[j / 2u] >> (16u * (j % 2u))) & 0xffffu; }
