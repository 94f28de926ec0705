// Masks of an attention's weights, made where they are needed: the stream's bits, which stand in front, for a query and 32 keys.
// Row r of the batch is query r % T of head r / T.
@group(0) @binding(4) var<storage, read> drawn: array<u32>; // seed, step, 64 bits each; the batch's first sequence
@group(0) @binding(6) var<storage, read> drawn_back: array<u32>; // the same

var<private> seed: vec4<u32>;
var<private> before: u32; // rows of the sequences before the batch
var<private> block: u32; // whose bits are known, of the row that a thread has
var<private> dropped: u32;
var<workgroup> dropped_in_tile: array<u32, MASKS>;

fn know(first: u32) {
    before = first * p.heads * p.t;
    block = 0xffffffffu;
}
fn know_forward() {
    seed = vec4(drawn[0], drawn[1], drawn[2], drawn[3]);
    know(drawn[4]);
}
fn know_backward() {
    seed = vec4(drawn_back[0], drawn_back[1], drawn_back[2], drawn_back[3]);
    know(drawn_back[4]);
}

// A bit for each of 32 keys: whether the query's weight is dropped.
fn drops(row: u32, number: u32) -> u32 {
    var all = block_of(seed, before + row, p.place, number);
    var bits = 0u;
    for (var j = 0u; j < 32u; j++) { bits |= select(0u, 1u << j, bits_of(&all, j) < p.threshold); }
    return bits;
}
fn factor(bits: u32, j: u32) -> f32 { return select(p.kept, 0.0, ((bits >> (j % 32u)) & 1u) == 1u); }

// Keys come in rising order to a thread that has a query.
fn mask(row: u32, j: u32) -> f32 {
    if block != j / 32u {
        block = j / 32u;
        dropped = drops(row, block);
    }
    return factor(dropped, j);
}

// Of n rows of queries, for so many blocks of keys from key j_0 on; j is the number of a key in its sequence.
fn take_masks(row_0: u32, n: u32, j_0: u32, blocks: u32, t: u32) {
    for (var e = t; e < n * blocks; e += THREADS) { dropped_in_tile[e] = drops(row_0 + e / blocks, j_0 / 32u + e % blocks); }
}
fn mask_in_tile(r: u32, key: u32, j: u32, blocks: u32) -> f32 { return factor(dropped_in_tile[r * blocks + key / 32u], j); }
