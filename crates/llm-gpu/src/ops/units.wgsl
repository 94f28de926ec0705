// The same with the matrix units of a device: each multiplies UNIT × UNIT numbers in f16 and adds them up in f32. Four quarters of a tile
// of C, each a subgroup's, N × N units. In front of this text stand UNIT, N, DEPTH, SUBGROUP and the types of a unit's operands and sums.
alias Four = vec4<f16>;
alias Stored = vec4<f16>;
fn stored(four: Stored) -> Four { return four; }
fn rounded(v: vec4<f32>) -> vec4<f32> { return v; } // as it becomes f16

const THREADS: u32 = 4u * SUBGROUP; // where subgroups are smaller there are more, which do the same again
const HALF: u32 = UNIT * N;
const T: u32 = 2u * HALF; // of a tile of C, by as many
const FETCHED: u32 = T * DEPTH / 4u / THREADS; // fours of each operand that a thread brings
const GAP: u32 = 8u; // behind each line of a tile: neighbours in other banks

// Lines as the numbers lie: rows of C (its columns) with k side by side, or k with rows (columns) side by side.
var<workgroup> a_tile: array<f16, T * (DEPTH + GAP)>;
var<workgroup> b_tile: array<f16, T * (DEPTH + GAP)>;
var<workgroup> of_units: array<f32, 4u * UNIT * HALF>; // a row of each quarter's units: zeros, and then sums
var<private> next_a: array<Four, FETCHED>;
var<private> next_b: array<Four, FETCHED>;

// The e-th four of a tile: its line, and its first number there.
fn four_of(e: u32, length: u32) -> vec2<u32> { return vec2(4u * e / length, 4u * e % length); }

// The tiles from k_0 on, into registers: they are on the way while those before are multiplied. Beyond the end are zeros.
fn fetch(z: vec2<u32>, row_0: u32, column_0: u32, k_0: u32, end: u32, t: u32) {
    for (var i = 0u; i < FETCHED; i++) {
        let e = t + i * THREADS;
        let by_k = four_of(e, DEPTH);
        let by_t = four_of(e, T);
        if p.a_column == 1u {
            next_a[i] = four_k_of_a(z, row_0 + by_k.x, k_0 + by_k.y, end);
        } else {
            next_a[i] = four_rows_of_a(z, row_0 + by_t.y, k_0 + by_t.x, end);
        }
        if p.b_column == 1u {
            next_b[i] = four_columns_of_b(z, k_0 + by_t.x, column_0 + by_t.y, end);
        } else {
            next_b[i] = four_k_of_b(z, k_0 + by_k.y, column_0 + by_k.x, end);
        }
    }
}

// What was fetched, into the tiles.
fn place(a_length: u32, b_length: u32, t: u32) {
    for (var i = 0u; i < FETCHED; i++) {
        let of_a = four_of(t + i * THREADS, a_length);
        let of_b = four_of(t + i * THREADS, b_length);
        for (var j = 0u; j < 4u; j++) {
            a_tile[of_a.x * (a_length + GAP) + of_a.y + j] = next_a[i][j];
            b_tile[of_b.x * (b_length + GAP) + of_b.y + j] = next_b[i][j];
        }
    }
}

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
    let a_by_k = p.a_column == 1u;
    let b_by_k = p.b_column != 1u;
    let a_length = select(T, DEPTH, a_by_k);
    let b_length = select(T, DEPTH, b_by_k);
    let a_line = a_length + GAP;
    let b_line = b_length + GAP;
    let counts = p.sums == 1u && g.y == 0u;
    var of_columns: array<f32, (T + THREADS - 1u) / THREADS>; // of the columns t, t + THREADS and so on
    var sums: array<array<Sums, N>, N>;
    for (var e = t; e < 4u * UNIT * HALF; e += THREADS) { of_units[e] = 0.0; }
    workgroupBarrier();
    for (var i = 0u; i < N; i++) {
        for (var j = 0u; j < N; j++) { sums[i][j] = coopLoadT<Sums>(&of_units[quarter * UNIT * HALF], HALF); }
    }
    fetch(z, row_0, column_0, k_of.x, end, t);
    for (var k_0 = k_of.x; k_0 < end; k_0 += DEPTH) {
        place(a_length, b_length, t);
        workgroupBarrier();
        fetch(z, row_0, column_0, k_0 + DEPTH, end, t);
        if counts {
            let along = select(b_line, 1u, b_by_k);
            let across = select(1u, b_line, b_by_k);
            for (var column = t; column < T; column += THREADS) {
                for (var k = 0u; k < DEPTH; k++) { of_columns[column / THREADS] += f32(b_tile[k * along + column * across]); }
            }
        }
        for (var k = 0u; k < DEPTH; k += UNIT) {
            var of_a: array<Left, N>;
            for (var i = 0u; i < N; i++) {
                let row = row_of + UNIT * i;
                if a_by_k { of_a[i] = coopLoadT<Left>(&a_tile[row * a_line + k], a_line); } else {
                    of_a[i] = coopLoad<Left>(&a_tile[k * a_line + row], a_line);
                }
            }
            for (var j = 0u; j < N; j++) {
                let column = column_of + UNIT * j;
                var of_b: Right;
                if b_by_k { of_b = coopLoad<Right>(&b_tile[column * b_line + k], b_line); } else {
                    of_b = coopLoadT<Right>(&b_tile[k * b_line + column], b_line);
                }
                for (var i = 0u; i < N; i++) { sums[i][j] = coopMultiplyAdd(of_a[i], of_b, sums[i][j]); }
            }
        }
        workgroupBarrier();
    }
    if counts {
        for (var column = t; column < T; column += THREADS) {
            put_sum(z, column_0 + column, of_columns[column / THREADS] / p.b_times);
        }
    }
    for (var i = 0u; i < N; i++) {
        for (var j = 0u; j < N; j++) { coopStoreT(sums[i][j], &of_units[quarter * UNIT * HALF + UNIT * j], HALF); }
        workgroupBarrier();
        for (var e = 4u * t; e < 4u * UNIT * HALF; e += 4u * THREADS) {
            let whose = e / (UNIT * HALF);
            let row = row_0 + whose / 2u * HALF + UNIT * i + e / HALF % UNIT;
            let four = vec4(of_units[e], of_units[e + 1u], of_units[e + 2u], of_units[e + 3u]);
            put(z, row, column_0 + whose % 2u * HALF + e % HALF, four);
        }
        workgroupBarrier();
    }
}
