// Tiles of A and B in a workgroup's memory, 4·Q × 4·Q sums in a thread's registers. Each number has one writer, which goes through
// k in rising order: the same bits on every run. In front of this text stand SIDE, Q and DEPTH.
alias Four = vec4<f32>;
alias Stored = vec2<u32>;
fn stored(words: Stored) -> Four { return f32_of(words); }
fn rounded(v: vec4<f32>) -> vec4<f32> {
    if p.half == 0u { return v; }
    return numbers_of(halves(v));
}

const THREADS: u32 = SIDE * SIDE;
const T: u32 = 4u * SIDE * Q; // of a tile of C, by as many
const ROW: u32 = T / 4u + 1u; // of the tiles of A and B, in fours: neighbours in other banks

var<workgroup> a_tile: array<vec4<f32>, DEPTH * ROW>; // [k][row of C]
var<workgroup> b_tile: array<vec4<f32>, DEPTH * ROW>; // [k][column of C]

@compute @workgroup_size(THREADS)
fn product(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let row_0 = g.y * T;
    let column_0 = g.x * T;
    if p.causal == 1u && column_0 >= row_0 + T { return; }
    let z = vec2(g.z / p.inner, g.z % p.inner);
    let k_of = bounds(row_0, T, g.z);
    let end = k_of.y;
    let x = t % SIDE;
    let y = t / SIDE;
    var sums: array<array<vec4<f32>, Q>, 4u * Q>;
    let counts = p.sums == 1u && g.y == 0u && y == 0u; // one thread for four columns
    var of_columns: array<vec4<f32>, Q>;
    for (var k_0 = k_of.x; k_0 < end; k_0 += DEPTH) {
        // Threads side by side read numbers side by side, four each; what is to be transposed goes four by four, since two
        // threads may not write to one vector.
        if p.a_column != 1u {
            for (var e = t; e < DEPTH * T / 4u; e += THREADS) {
                let row = e % (T / 4u);
                let k = e / (T / 4u);
                a_tile[k * ROW + row] = four_rows_of_a(z, row_0 + 4u * row, k_0 + k, end);
            }
        } else {
            for (var e = t; e < DEPTH * T / 16u; e += THREADS) {
                let row = e / (DEPTH / 4u);
                let k = e % (DEPTH / 4u) * 4u;
                let of_row = row_0 + 4u * row;
                let v = transpose(mat4x4(
                    four_k_of_a(z, of_row, k_0 + k, end), four_k_of_a(z, of_row + 1u, k_0 + k, end),
                    four_k_of_a(z, of_row + 2u, k_0 + k, end), four_k_of_a(z, of_row + 3u, k_0 + k, end),
                ));
                let at = k * ROW + row;
                a_tile[at] = v[0];
                a_tile[at + ROW] = v[1];
                a_tile[at + 2u * ROW] = v[2];
                a_tile[at + 3u * ROW] = v[3];
            }
        }
        if p.b_column == 1u {
            for (var e = t; e < DEPTH * T / 4u; e += THREADS) {
                let column = e % (T / 4u);
                let k = e / (T / 4u);
                b_tile[k * ROW + column] = four_columns_of_b(z, k_0 + k, column_0 + 4u * column, end);
            }
        } else {
            for (var e = t; e < DEPTH * T / 16u; e += THREADS) {
                let column = e / (DEPTH / 4u);
                let k = e % (DEPTH / 4u) * 4u;
                let of_column = column_0 + 4u * column;
                let v = transpose(mat4x4(
                    four_k_of_b(z, k_0 + k, of_column, end), four_k_of_b(z, k_0 + k, of_column + 1u, end),
                    four_k_of_b(z, k_0 + k, of_column + 2u, end), four_k_of_b(z, k_0 + k, of_column + 3u, end),
                ));
                let at = k * ROW + column;
                b_tile[at] = v[0];
                b_tile[at + ROW] = v[1];
                b_tile[at + 2u * ROW] = v[2];
                b_tile[at + 3u * ROW] = v[3];
            }
        }
        workgroupBarrier(); // the tiles are whole
        for (var k = 0u; k < DEPTH; k++) {
            var of_b: array<vec4<f32>, Q>;
            for (var j = 0u; j < Q; j++) { of_b[j] = b_tile[k * ROW + x + SIDE * j]; }
            if counts {
                for (var j = 0u; j < Q; j++) { of_columns[j] += of_b[j]; }
            }
            for (var i = 0u; i < Q; i++) {
                let of_a = a_tile[k * ROW + y + SIDE * i];
                for (var j = 0u; j < Q; j++) {
                    sums[4u * i][j] = fma(vec4(of_a.x), of_b[j], sums[4u * i][j]);
                    sums[4u * i + 1u][j] = fma(vec4(of_a.y), of_b[j], sums[4u * i + 1u][j]);
                    sums[4u * i + 2u][j] = fma(vec4(of_a.z), of_b[j], sums[4u * i + 2u][j]);
                    sums[4u * i + 3u][j] = fma(vec4(of_a.w), of_b[j], sums[4u * i + 3u][j]);
                }
            }
        }
        workgroupBarrier(); // who still reads them is waited for
    }
    if counts {
        for (var j = 0u; j < Q; j++) {
            for (var i = 0u; i < 4u; i++) { put_sum(z, column_0 + 4u * (x + SIDE * j) + i, of_columns[j][i] / p.b_times); }
        }
    }
    for (var i = 0u; i < 4u * Q; i++) {
        let row = row_0 + 4u * (y + SIDE * (i / 4u)) + i % 4u;
        for (var j = 0u; j < Q; j++) {
            let column = column_0 + 4u * (x + SIDE * j);
            put(z, row, column, sums[i][j]);
        }
    }
}
