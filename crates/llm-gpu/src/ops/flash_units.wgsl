// Attention's one call, and the one back, with the matrix units of a device: as in flash.wgsl, but q, k, v, P, dy and dS are rounded to
// f16 before they are multiplied; sums and all else are f32. A workgroup has 64 queries, or 64 keys on the way back, a quarter
// of them a subgroup's; 32 of the others pass by. Units do not show which number is where, so that rows of sums cannot be
// scaled in them: forward goes through the keys twice, for lse and then for y. Weights and dS, which are small where there are many
// keys, are multiplied by 2⁸ before they are rounded, dy by `lift`. δ is that of the rounded dy, so that rows of dS add up to 0,
// and scores are made of the numbers of forward.
// In front of this text stand UNIT, SUBGROUP, the types of a unit, D, a head's width, CAPPED, and what it shares with flash.wgsl;
// behind it what stands behind that.
// Reference: Dao et al., "FlashAttention".
const THREADS: u32 = 4u * SUBGROUP; // where subgroups are smaller there are more, which do the same again
const ROWS: u32 = 64u; // of a workgroup
const OTHERS: u32 = 32u; // that pass by
const MASKS: u32 = 64u; // words: of a row for all others, or of one of the others for all rows
const R: u32 = 16u / UNIT; // units of a subgroup's rows
const U: u32 = OTHERS / UNIT;
const DU: u32 = D / UNIT;
const D4: u32 = D / 4u;
const LINE: u32 = D + 8u; // neighbours in other banks
const W_LINE: u32 = OTHERS + 8u;
const EACH: u32 = ROWS * OTHERS / THREADS;
const MORE: f32 = 256.0; // before weights and dS are rounded
var<workgroup> tile: array<f16, ROWS * LINE>; // the rows, or 32 others and what is multiplied with their weights
var<workgroup> s: array<f32, ROWS * OTHERS>; // scores, dP, and parts of results on their way out
var<workgroup> w: array<f16, ROWS * W_LINE>; // weights, or dS
var<workgroup> of_row: array<vec2<f32>, ROWS>; // greatest score and sum, then lse and δ of a query
var<workgroup> zeros: array<f32, UNIT * UNIT>;

fn put_in_tile(row: u32, c: u32, v: vec4<f32>) {
    let four = vec4<f16>(v);
    for (var i = 0u; i < 4u; i++) { tile[row * LINE + 4u * c + i] = four[i]; }
}

// q, k or v of n tokens from `from` on, times a number, into the tile's rows from `to` on; beyond the sequence zeros.
fn take(b: u32, from_i: u32, part: u32, n: u32, to: u32, times: f32, t: u32) {
    for (var e = t; e < n * D4; e += THREADS) {
        var v = vec4(0.0);
        if from_i + e / D4 < p.t { v = times * qkv[at_of(b, from_i + e / D4, part) + e % D4]; }
        put_in_tile(to + e / D4, e % D4, v);
    }
}

// The same of dy, lifted.
fn take_dy(b: u32, from_i: u32, h: u32, n: u32, to: u32, t: u32) {
    for (var e = t; e < n * D4; e += THREADS) {
        var v = vec4(0.0);
        if from_i + e / D4 < p.t { v = p.lift * dy[y_at(b, from_i + e / D4, h) + e % D4]; }
        put_in_tile(to + e / D4, e % D4, v);
    }
}

// lse and the lifted δ of n queries.
fn know_rows(b: u32, from_i: u32, h: u32, n: u32, t: u32) {
    for (var r = t; r < n; r += THREADS) {
        let i = from_i + r;
        if i >= p.t { continue; }
        var d = 0.0;
        for (var c = 0u; c < D4; c++) {
            let rounded = vec4<f32>(vec4<f16>(p.lift * dy[y_at(b, i, h) + c]));
            d += dot(rounded, known_y[y_at(b, i, h) + c]);
        }
        of_row[r] = vec2(known_lse[(b * p.heads + h) * p.t + i], d);
    }
}

// The e-th weight of rows and others, as it is multiplied.
fn put_weight(e: u32, v: f32) { w[e / OTHERS * W_LINE + e % OTHERS] = f16(MORE * v); }
// dS; where a weight is 0 it is, whatever stands beside it.
fn back_to_score(weight: f32, of_p: f32, d: f32) -> f32 { return select(0.0, weight * (of_p - d), weight != 0.0); }

// A subgroup's rows of the tile.
fn take_own(own: ptr<function, array<array<Left, DU>, R>>, quarter: u32) {
    for (var r = 0u; r < R; r++) {
        for (var d = 0u; d < DU; d++) {
            (*own)[r][d] = coopLoadT<Left>(&tile[(16u * quarter + UNIT * r) * LINE + UNIT * d], LINE);
        }
    }
}

// s ← own·othersᵀ, of the others that lie in the tile from row `at` on.
fn multiply(own: ptr<function, array<array<Left, DU>, R>>, at: u32, quarter: u32) {
    for (var r = 0u; r < R; r++) {
        for (var u = 0u; u < U; u++) {
            var sum = coopLoadT<Sums>(&zeros[0], UNIT);
            for (var d = 0u; d < DU; d++) {
                let other = coopLoad<Right>(&tile[(at + UNIT * u) * LINE + UNIT * d], LINE);
                sum = coopMultiplyAdd((*own)[r][d], other, sum);
            }
            coopStoreT(sum, &s[(16u * quarter + UNIT * r) * OTHERS + UNIT * u], OTHERS);
        }
    }
}

fn clear(sums: ptr<function, array<array<Sums, DU>, R>>) {
    for (var r = 0u; r < R; r++) {
        for (var d = 0u; d < DU; d++) { (*sums)[r][d] = coopLoadT<Sums>(&zeros[0], UNIT); }
    }
}

// sums += w·others, of the others that lie in the tile from row `at` on.
fn add_up(sums: ptr<function, array<array<Sums, DU>, R>>, at: u32, quarter: u32) {
    for (var r = 0u; r < R; r++) {
        for (var u = 0u; u < U; u++) {
            let weights = coopLoadT<Left>(&w[(16u * quarter + UNIT * r) * W_LINE + UNIT * u], W_LINE);
            for (var d = 0u; d < DU; d++) {
                let other = coopLoadT<Right>(&tile[(at + UNIT * u) * LINE + UNIT * d], LINE);
                (*sums)[r][d] = coopMultiplyAdd(weights, other, (*sums)[r][d]);
            }
        }
    }
}

// 32 columns of the sums, into s.
fn give(sums: ptr<function, array<array<Sums, DU>, R>>, piece: u32, quarter: u32) {
    workgroupBarrier(); // who still reads is waited for
    for (var r = 0u; r < R; r++) {
        for (var u = 0u; u < U; u++) {
            if piece * U + u < DU {
                coopStoreT((*sums)[r][piece * U + u], &s[(16u * quarter + UNIT * r) * OTHERS + UNIT * u], OTHERS);
            }
        }
    }
    workgroupBarrier();
}
fn four_of_s(e: u32) -> vec4<f32> { return vec4(s[e], s[e + 1u], s[e + 2u], s[e + 3u]); }

// Where the keys begin that queries from i_0 on see, in whole blocks of masks.
fn first_key(i_0: u32) -> u32 { return select(0u, i_0 + 1u - p.window, i_0 + 1u > p.window) / OTHERS * OTHERS; }

@compute @workgroup_size(THREADS)
fn forward(
    @builtin(workgroup_id) g: vec3<u32>,
    @builtin(local_invocation_index) t: u32,
    @builtin(subgroup_id) subgroup: u32,
) {
    let quarter = subgroup % 4u;
    let b = g.y / p.heads;
    let h = g.y % p.heads;
    let of_k = p.heads + h / (p.heads / p.groups);
    let i_0 = g.x * ROWS;
    let end = min(p.t, i_0 + ROWS);
    know_forward();
    for (var e = t; e < UNIT * UNIT; e += THREADS) { zeros[e] = 0.0; }
    for (var r = t; r < ROWS; r += THREADS) { of_row[r] = vec2(-3.4e38, 0.0); }
    take(b, i_0, h, ROWS, 0u, p.scale, t);
    workgroupBarrier();
    var q: array<array<Left, DU>, R>;
    take_own(&q, quarter);
    for (var j_0 = first_key(i_0); j_0 < end; j_0 += OTHERS) {
        workgroupBarrier();
        take(b, j_0, of_k, OTHERS, 0u, 1.0, t);
        workgroupBarrier();
        multiply(&q, 0u, quarter);
        workgroupBarrier();
        for (var r = t; r < ROWS; r += THREADS) {
            var most = of_row[r].x;
            var all = of_row[r].y;
            for (var c = 0u; c < OTHERS; c++) {
                let column = (c + r) % OTHERS; // rows side by side read other banks
                if !sees(i_0 + r, j_0 + column) { continue; }
                let v = score(s[r * OTHERS + column]);
                if v > most {
                    all *= exp(most - v);
                    most = v;
                }
                all += exp(v - most);
            }
            of_row[r] = vec2(most, all);
        }
    }
    for (var r = t; r < ROWS; r += THREADS) {
        let known = of_row[r].x + log(of_row[r].y);
        of_row[r].x = known;
        if i_0 + r < p.t { lse[g.y * p.t + i_0 + r] = known; }
    }
    var sums: array<array<Sums, DU>, R>;
    clear(&sums);
    for (var j_0 = first_key(i_0); j_0 < end; j_0 += OTHERS) {
        workgroupBarrier();
        take(b, j_0, of_k, OTHERS, 0u, 1.0, t);
        take(b, j_0, of_k + p.groups, OTHERS, OTHERS, 1.0, t);
        take_masks(g.y * p.t + i_0, ROWS, j_0, 1u, t);
        workgroupBarrier();
        multiply(&q, 0u, quarter);
        workgroupBarrier();
        for (var e = t; e < ROWS * OTHERS; e += THREADS) {
            let r = e / OTHERS;
            let j = j_0 + e % OTHERS;
            var v = 0.0;
            if sees(i_0 + r, j) { v = exp(score(s[e]) - of_row[r].x) * mask_in_tile(r, 0u, j, 1u); }
            put_weight(e, v);
        }
        workgroupBarrier();
        add_up(&sums, OTHERS, quarter);
    }
    for (var piece = 0u; piece < (D + 31u) / 32u; piece++) {
        give(&sums, piece, quarter);
        for (var e = 4u * t; e < ROWS * OTHERS; e += 4u * THREADS) {
            let column = piece * OTHERS + e % OTHERS;
            if column < D && i_0 + e / OTHERS < p.t { y[y_at(b, i_0 + e / OTHERS, h) + column / 4u] = four_of_s(e) / MORE; }
        }
    }
}

// Of each sequence the heads' queries, and behind them the groups' keys: neither waits for the other.
@compute @workgroup_size(THREADS)
fn backward(
    @builtin(workgroup_id) g: vec3<u32>,
    @builtin(local_invocation_index) t: u32,
    @builtin(subgroup_id) subgroup: u32,
) {
    let b = g.y / (p.heads + p.groups);
    let n = g.y % (p.heads + p.groups);
    know_backward();
    for (var e = t; e < UNIT * UNIT; e += THREADS) { zeros[e] = 0.0; }
    if n < p.heads {
        back_to_queries(b, n, g.x * ROWS, subgroup % 4u, t);
    } else {
        back_to_keys(b, n - p.heads, g.x * ROWS, subgroup % 4u, t);
    }
}

// Numbers of the gradient, times a number, from where `part` begins.
fn put_back(b: u32, from_i: u32, part: u32, piece: u32, times: f32, t: u32) {
    for (var e = 4u * t; e < ROWS * OTHERS; e += 4u * THREADS) {
        let column = piece * OTHERS + e % OTHERS;
        let i = from_i + e / OTHERS;
        if column < D && i < p.t { put_gradient(at_of(b, i, part) + column / 4u, times * four_of_s(e)); }
    }
}

// dq.
fn back_to_queries(b: u32, h: u32, i_0: u32, quarter: u32, t: u32) {
    let of_k = p.heads + h / (p.heads / p.groups);
    let end = min(p.t, i_0 + ROWS);
    var q: array<array<Left, DU>, R>;
    var of_y: array<array<Left, DU>, R>;
    var sums: array<array<Sums, DU>, R>;
    var weights: array<f32, EACH>;
    take(b, i_0, h, ROWS, 0u, p.scale, t);
    know_rows(b, i_0, h, ROWS, t);
    workgroupBarrier();
    take_own(&q, quarter);
    clear(&sums);
    workgroupBarrier();
    take_dy(b, i_0, h, ROWS, 0u, t);
    workgroupBarrier();
    take_own(&of_y, quarter);
    for (var j_0 = first_key(i_0); j_0 < end; j_0 += OTHERS) {
        workgroupBarrier();
        take(b, j_0, of_k, OTHERS, 0u, 1.0, t);
        take(b, j_0, of_k + p.groups, OTHERS, OTHERS, 1.0, t);
        take_masks((b * p.heads + h) * p.t + i_0, ROWS, j_0, 1u, t);
        workgroupBarrier();
        multiply(&q, 0u, quarter);
        workgroupBarrier();
        for (var n = 0u; n < EACH; n++) {
            let e = t + n * THREADS;
            weights[n] = 0.0;
            if sees(i_0 + e / OTHERS, j_0 + e % OTHERS) { weights[n] = exp(score(s[e]) - of_row[e / OTHERS].x) * slope(s[e]); }
        }
        workgroupBarrier();
        multiply(&of_y, OTHERS, quarter);
        workgroupBarrier();
        for (var n = 0u; n < EACH; n++) {
            let e = t + n * THREADS;
            let r = e / OTHERS;
            let of_p = mask_in_tile(r, 0u, j_0 + e % OTHERS, 1u) * s[e];
            put_weight(e, back_to_score(weights[n], of_p, of_row[r].y));
        }
        workgroupBarrier();
        add_up(&sums, 0u, quarter);
    }
    for (var piece = 0u; piece < (D + 31u) / 32u; piece++) {
        give(&sums, piece, quarter);
        put_back(b, i_0, h, piece, p.scale / (MORE * p.lift), t);
    }
}

// dk and dv of the keys of a group; the group's heads one after the other.
fn back_to_keys(b: u32, g: u32, j_0: u32, quarter: u32, t: u32) {
    let end = min(p.t, j_0 + ROWS - 1u + p.window);
    var k: array<array<Left, DU>, R>;
    var v: array<array<Left, DU>, R>;
    var dk: array<array<Sums, DU>, R>;
    var dv: array<array<Sums, DU>, R>;
    var weights: array<f32, EACH>;
    take(b, j_0, p.heads + g, ROWS, 0u, 1.0, t);
    workgroupBarrier();
    take_own(&k, quarter);
    clear(&dk);
    clear(&dv);
    workgroupBarrier();
    take(b, j_0, p.heads + p.groups + g, ROWS, 0u, 1.0, t);
    workgroupBarrier();
    take_own(&v, quarter);
    for (var head = 0u; head < p.heads / p.groups; head++) {
        let h = g * (p.heads / p.groups) + head;
        for (var i_0 = j_0; i_0 < end; i_0 += OTHERS) {
            workgroupBarrier();
            take(b, i_0, h, OTHERS, 0u, p.scale, t);
            take_dy(b, i_0, h, OTHERS, OTHERS, t);
            know_rows(b, i_0, h, OTHERS, t);
            take_masks((b * p.heads + h) * p.t + i_0, OTHERS, j_0, 2u, t);
            workgroupBarrier();
            multiply(&k, 0u, quarter);
            workgroupBarrier();
            for (var n = 0u; n < EACH; n++) {
                let e = t + n * THREADS;
                let c = e % OTHERS;
                let r = e / OTHERS;
                var weight = 0.0;
                if sees(i_0 + c, j_0 + r) { weight = exp(score(s[e]) - of_row[c].x); }
                weights[n] = weight * slope(s[e]);
                put_weight(e, weight * mask_in_tile(c, r, j_0 + r, 2u));
            }
            workgroupBarrier();
            add_up(&dv, OTHERS, quarter);
            multiply(&v, OTHERS, quarter);
            workgroupBarrier();
            for (var n = 0u; n < EACH; n++) {
                let e = t + n * THREADS;
                let c = e % OTHERS;
                let r = e / OTHERS;
                let of_p = mask_in_tile(c, r, j_0 + r, 2u) * s[e];
                put_weight(e, back_to_score(weights[n], of_p, of_row[c].y));
            }
            workgroupBarrier();
            add_up(&dk, 0u, quarter);
        }
    }
    for (var piece = 0u; piece < (D + 31u) / 32u; piece++) {
        give(&dk, piece, quarter);
        put_back(b, j_0, p.heads + g, piece, 1.0 / (MORE * p.lift), t);
        give(&dv, piece, quarter);
        put_back(b, j_0, p.heads + p.groups + g, piece, 1.0 / (MORE * p.lift), t);
    }
}
