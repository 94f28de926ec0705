// The same with the matrix units of a device: each multiplies UNIT × UNIT numbers in f16 and adds them up in f32. Four quarters of a tile
// of C, each a subgroup's, N × N units. In front of this text stand UNIT, N, DEPTH, SUBGROUP and the types of a unit's operands and sums.
const THREADS: u32 = 4u * SUBGROUP; // where subgroups are smaller there are more, which do the same again
const HALF: u32 = UNIT * N;
const T: u32 = 2u * HALF; // of a tile of C, by as many
const ROW_A: u32 = DEPTH + 8u; // neighbours in other banks
const ROW_B: u32 = T + 8u;

var<workgroup> a_tile: array<f16, T * ROW_A>; // [row of C][k]
var<workgroup> b_tile: array<f16, DEPTH * ROW_B>; // [k][column of C]
var<workgroup> of_units: array<f32, 4u * UNIT * UNIT>; // a unit of each quarter: zeros, and then sums

@compute @workgroup_size(THREADS)
fn product(
    @builtin(workgroup_id) g: vec3<u32>,
    @builtin(local_invocation_index) t: u32,
    @builtin(subgroup_id) subgroup: u32,
) {
    let row_0 = g.y * T;
    let column_0 = g.x * T;
    let z = vec2(g.z / p.inner, g.z % p.inner);
    let k_of = bounds(row_0, T, g.z);
    let end = k_of.y;
    let quarter = subgroup % 4u;
    let row_of = quarter / 2u * HALF;
    let column_of = quarter % 2u * HALF;
    var sums: array<array<Sums, N>, N>;
    for (var e = t; e < 4u * UNIT * UNIT; e += THREADS) { of_units[e] = 0.0; }
    workgroupBarrier();
    for (var i = 0u; i < N; i++) {
        for (var j = 0u; j < N; j++) { sums[i][j] = coopLoadT<Sums>(&of_units[quarter * UNIT * UNIT], UNIT); }
    }
    for (var k_0 = k_of.x; k_0 < end; k_0 += DEPTH) {
        for (var e = t; e < T * DEPTH / 4u; e += THREADS) {
            if p.a_column == 1u {
                let row = e / (DEPTH / 4u);
                let k = e % (DEPTH / 4u) * 4u;
                let v = vec4<f16>(four_k_of_a(z, row_0 + row, k_0 + k, end));
                for (var i = 0u; i < 4u; i++) { a_tile[row * ROW_A + k + i] = v[i]; }
            } else {
                let row = e % (T / 4u) * 4u;
                let k = e / (T / 4u);
                let v = vec4<f16>(four_rows_of_a(z, row_0 + row, k_0 + k, end));
                for (var i = 0u; i < 4u; i++) { a_tile[(row + i) * ROW_A + k] = v[i]; }
            }
        }
        for (var e = t; e < T * DEPTH / 4u; e += THREADS) {
            if p.b_column == 1u {
                let column = e % (T / 4u) * 4u;
                let k = e / (T / 4u);
                let v = vec4<f16>(four_columns_of_b(z, k_0 + k, column_0 + column, end));
                for (var i = 0u; i < 4u; i++) { b_tile[k * ROW_B + column + i] = v[i]; }
            } else {
                let column = e / (DEPTH / 4u);
                let k = e % (DEPTH / 4u) * 4u;
                let v = vec4<f16>(four_k_of_b(z, k_0 + k, column_0 + column, end));
                for (var i = 0u; i < 4u; i++) { b_tile[(k + i) * ROW_B + column] = v[i]; }
            }
        }
        workgroupBarrier();
        for (var k = 0u; k < DEPTH; k += UNIT) {
            var of_a: array<Left, N>;
            for (var i = 0u; i < N; i++) { of_a[i] = coopLoadT<Left>(&a_tile[(row_of + UNIT * i) * ROW_A + k], ROW_A); }
            for (var j = 0u; j < N; j++) {
                let of_b = coopLoadT<Right>(&b_tile[k * ROW_B + column_of + UNIT * j], ROW_B);
                for (var i = 0u; i < N; i++) { sums[i][j] = coopMultiplyAdd(of_a[i], of_b, sums[i][j]); }
            }
        }
        workgroupBarrier();
    }
    for (var i = 0u; i < N; i++) {
        for (var j = 0u; j < N; j++) {
            coopStoreT(sums[i][j], &of_units[quarter * UNIT * UNIT], UNIT);
            workgroupBarrier();
            for (var e = t; e < 4u * UNIT * UNIT; e += THREADS) {
                let whose = e / (UNIT * UNIT);
                let row = row_0 + whose / 2u * HALF + UNIT * i + e / UNIT % UNIT;
                put(z, row, column_0 + whose % 2u * HALF + UNIT * j + e % UNIT, of_units[e]);
            }
            workgroupBarrier();
        }
    }
}
