// C ← α·A·B (+ a bias of each column, or + β·D) (+ C), for every z of the grid. A transposed matrix is one with its two strides
// exchanged, a head is an offset: nothing is copied to be multiplied. Each number has one writer, which goes through k in
// rising order: the same bits on every run. In front of this text stand R, the rows and columns of one thread, and DEPTH.
struct Product {
    m: u32, n: u32, k: u32, inner: u32, // z = outer·inner + inner's number
    a_at: u32, a_row: u32, a_column: u32, a_outer: u32, a_inner: u32,
    b_at: u32, b_row: u32, b_column: u32, b_outer: u32, b_inner: u32,
    c_at: u32, c_row: u32, c_outer: u32, c_inner: u32,
    alpha: f32, plus: u32, bias_at: u32, beta: f32, // plus: 1 a bias, 2 β·D, which lies as C does
    add: u32,
    causal: u32, // 1: only C's lower triangle; 2: A is a lower triangle; 3: A is the transpose of one
    chunk: u32, // not 0: z counts chunks of k
}
const T: u32 = 16u * R; // of a tile of C, by as many
const ROW: u32 = T + 4u; // of the tiles of A and B: neighbours in other banks

@group(0) @binding(0) var<uniform> p: Product;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read> d: array<f32>; // or what has the bias
@group(0) @binding(4) var<storage, read_write> c: array<f32>;

var<workgroup> a_tile: array<f32, DEPTH * ROW>; // [k][row of C]
var<workgroup> b_tile: array<f32, DEPTH * ROW>; // [k][column of C]

@compute @workgroup_size(256)
fn product(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let row_0 = g.y * T;
    let column_0 = g.x * T;
    if p.causal == 1u && column_0 >= row_0 + T { return; }
    var first = 0u;
    var end = p.k;
    if p.chunk > 0u { first = g.z * p.chunk; end = min(end, first + p.chunk); }
    if p.causal == 2u { end = min(end, row_0 + T); }
    if p.causal == 3u { first = row_0; }
    let outer = g.z / p.inner;
    let inner = g.z % p.inner;
    var a_at = p.a_at + inner * p.a_inner + outer * p.a_outer;
    var b_at = p.b_at + inner * p.b_inner + outer * p.b_outer;
    let x = t % 16u;
    let y = t / 16u;
    var sums: array<array<f32, R>, R>;
    for (var k_0 = first; k_0 < end; k_0 += DEPTH) {
        for (var e = t; e < DEPTH * T; e += 256u) { // threads side by side read numbers side by side
            var row = e / DEPTH;
            var k = e % DEPTH;
            if p.a_column != 1u { row = e % T; k = e / T; }
            var v = 0.0;
            if row_0 + row < p.m && k_0 + k < end { v = a[a_at + (row_0 + row) * p.a_row + (k_0 + k) * p.a_column]; }
            a_tile[k * ROW + row] = v;
        }
        for (var e = t; e < DEPTH * T; e += 256u) {
            var column = e % T;
            var k = e / T;
            if p.b_column != 1u { column = e / DEPTH; k = e % DEPTH; }
            var v = 0.0;
            if column_0 + column < p.n && k_0 + k < end { v = b[b_at + (k_0 + k) * p.b_row + (column_0 + column) * p.b_column]; }
            b_tile[k * ROW + column] = v;
        }
        workgroupBarrier(); // the tiles are whole
        for (var k = 0u; k < DEPTH; k++) {
            var of_b: array<f32, R>;
            for (var j = 0u; j < R; j++) { of_b[j] = b_tile[k * ROW + x + 16u * j]; }
            for (var i = 0u; i < R; i++) {
                let of_a = a_tile[k * ROW + y + 16u * i];
                for (var j = 0u; j < R; j++) { sums[i][j] = fma(of_a, of_b[j], sums[i][j]); }
            }
        }
        workgroupBarrier(); // who still reads them is waited for
    }
    let c_at = p.c_at + inner * p.c_inner + outer * p.c_outer;
    for (var i = 0u; i < R; i++) {
        let row = row_0 + y + 16u * i;
        for (var j = 0u; j < R; j++) {
            let column = column_0 + x + 16u * j;
            if row < p.m && column < p.n {
                let at = c_at + row * p.c_row + column;
                var v = p.alpha * sums[i][j];
                if p.plus == 1u { v += d[p.bias_at + column]; }
                if p.plus == 2u { v = fma(p.beta, d[at], v); }
                if p.add == 1u { v += c[at]; }
                c[at] = v;
            }
        }
    }
}
