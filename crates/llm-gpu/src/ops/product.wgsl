// C ← α·A·B (+ a bias of each column) (+ β·D) (+ C), for every z of the grid. A transposed matrix is one with its two strides
// exchanged, a head is an offset: nothing is copied to be multiplied. Behind this text stands how A and B are read, and what becomes
// of C's numbers.
struct Product {
    m: u32, n: u32, k: u32, inner: u32, // z = outer·inner + inner's number
    a_at: u32, a_row: u32, a_column: u32, a_outer: u32, a_inner: u32,
    b_at: u32, b_row: u32, b_column: u32, b_outer: u32, b_inner: u32,
    c_at: u32, c_row: u32, c_outer: u32, c_inner: u32,
    alpha: f32, plus: u32, bias_at: u32, beta: f32, // plus: 1 a bias, and 2 β·D, which lies as C does
    add: u32,
    sums: u32, sums_at: u32, sums_add: u32, // 1: of B's columns as well, into C's room
    causal: u32, // 1: only C's lower triangle; 2: A is a lower triangle; 3: A is the transpose of one
    chunk: u32, // not 0: z counts chunks of k
    a_times: f32, b_times: f32, // before they are multiplied
    half: u32, // 1: and rounded to f16
    c_times: f32, // what is stored as f16 of C is multiplied by it
}

@group(0) @binding(0) var<uniform> p: Product;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read> d: array<f32>;

// Where k begins and ends for a tile of C that begins at this row.
fn bounds(row_0: u32, rows: u32, z: u32) -> vec2<u32> {
    var first = 0u;
    var end = p.k;
    if p.chunk > 0u { first = z * p.chunk; end = min(end, first + p.chunk); }
    if p.causal == 2u { end = min(end, row_0 + rows); }
    if p.causal == 3u { first = row_0; }
    return vec2(first, end);
}

// How many of four numbers from `at` on are there, in a line that is in the matrix.
fn left(is_in: bool, at: u32, end: u32) -> u32 { return select(0u, min(end - at, 4u), is_in && at < end); }

// Four numbers of A, rows from `row` on or k from `k` on: as they lie side by side.
fn four_rows_of_a(z: vec2<u32>, row: u32, k: u32, end: u32) -> Four {
    return four_of_a(p.a_at + z.x * p.a_outer + z.y * p.a_inner + row + k * p.a_column, left(k < end, row, p.m));
}
fn four_k_of_a(z: vec2<u32>, row: u32, k: u32, end: u32) -> Four {
    return four_of_a(p.a_at + z.x * p.a_outer + z.y * p.a_inner + row * p.a_row + k, left(row < p.m, k, end));
}
fn four_columns_of_b(z: vec2<u32>, k: u32, column: u32, end: u32) -> Four {
    return four_of_b(p.b_at + z.x * p.b_outer + z.y * p.b_inner + k * p.b_row + column, left(k < end, column, p.n));
}
fn four_k_of_b(z: vec2<u32>, k: u32, column: u32, end: u32) -> Four {
    return four_of_b(p.b_at + z.x * p.b_outer + z.y * p.b_inner + k + column * p.b_column, left(column < p.n, k, end));
}

// Four numbers of a row of C, from `column` on.
fn put(z: vec2<u32>, row: u32, column: u32, sums: vec4<f32>) {
    if row >= p.m || column >= p.n { return; }
    let n = min(p.n - column, 4u);
    let at = p.c_at + z.x * p.c_outer + z.y * p.c_inner + row * p.c_row + column;
    var v = p.alpha * sums;
    for (var i = 0u; i < 4u; i++) {
        if i < n {
            if (p.plus & 1u) != 0u { v[i] += bias[p.bias_at + column + i]; }
            if (p.plus & 2u) != 0u { v[i] = fma(p.beta, d[at + i], v[i]); }
        }
    }
    finish(at, v, n);
}

// The sum of a column of B, into C's room.
fn put_sum(z: vec2<u32>, column: u32, sum: f32) {
    if column < p.n { finish_sum(p.sums_at + z.x * p.c_outer + column, sum); }
}
