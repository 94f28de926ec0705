// y_i = Σ_j P_ij·v_j over the keys j that query i sees, P_ij = e^(s_ij − lse_i), s_ij = scale·q_i·k_j,
// lse_i = ln Σ_j e^s_ij. With δ_i = dy_i·y_i and dS_ij = P_ij·(dy_i·v_j − δ_i):
// dq_i = scale·Σ_j dS_ij·k_j,  dk_j = scale·Σ_i dS_ij·q_i,  dv_j = Σ_i P_ij·dy_i.
// S threads for a query, or for a key on the way back, each with a part of its row, so that no thread has more than registers hold;
// tiles of the others pass by. Nothing of [T, T] is stored, and every sum has one writer, in rising order. In front of this text
// stand D4, a quarter of a head's width, S, TILE and CAPPED: with a soft cap c the score is c·tanh(s_ij/c), and dS_ij has the
// factor 1 − tanh². Behind it stands how the gradient is stored, and what becomes of weights: with masks m_ij
// y_i = Σ_j m_ij·P_ij·v_j, and dy_i·v_j has that factor, too.
// Reference: Dao et al., "FlashAttention".
const THREADS: u32 = 64u;
const ROWS: u32 = THREADS / S; // of a workgroup
const E: u32 = D4 / S; // of a row, in fours
const BLOCKS: u32 = (ROWS + 31u) / 32u; // of masks, of a workgroup's keys
const MASKS: u32 = TILE * BLOCKS;
var<workgroup> left: array<vec4<f32>, TILE * D4>; // keys, or queries
var<workgroup> right: array<vec4<f32>, TILE * D4>; // values, or dy
var<workgroup> of_row: array<vec2<f32>, TILE>; // lse and δ of a query
// What each thread has of its row's products with a tile's, with one thread for a row none; before it, parts of each δ.
var<workgroup> parts: array<vec2<f32>, max((min(S - 1u, 1u) * TILE + 1u) * THREADS, TILE * D4)>;

fn with_left(x: ptr<function, array<vec4<f32>, E>>, row: u32, part: u32) -> f32 {
    var s = vec4(0.0);
    for (var c = 0u; c < E; c++) { s = fma((*x)[c], left[row * D4 + part * E + c], s); }
    return (s.x + s.y) + (s.z + s.w);
}

fn with_right(x: ptr<function, array<vec4<f32>, E>>, row: u32, part: u32) -> f32 {
    var s = vec4(0.0);
    for (var c = 0u; c < E; c++) { s = fma((*x)[c], right[row * D4 + part * E + c], s); }
    return (s.x + s.y) + (s.z + s.w);
}

// A sum over the threads that have a row, in their order.
fn whole(row: u32, t: u32) -> vec2<f32> {
    var s = parts[row * THREADS + t / S * S];
    for (var n = 1u; n < S; n++) { s += parts[row * THREADS + t / S * S + n]; }
    return s;
}

// Products of a thread's part of two rows with all of a tile: what `product` and `products` are made of.
fn give_products(x: ptr<function, array<vec4<f32>, E>>, z: ptr<function, array<vec4<f32>, E>>, t: u32) {
    if S == 1u { return; }
    for (var r = 0u; r < TILE; r++) { parts[r * THREADS + t] = vec2(with_left(x, r, t % S), with_right(z, r, t % S)); }
    workgroupBarrier();
}
fn give_product(x: ptr<function, array<vec4<f32>, E>>, t: u32) {
    if S == 1u { return; }
    for (var r = 0u; r < TILE; r++) { parts[r * THREADS + t] = vec2(with_left(x, r, t % S), 0.0); }
    workgroupBarrier();
}
fn products(x: ptr<function, array<vec4<f32>, E>>, z: ptr<function, array<vec4<f32>, E>>, r: u32, t: u32) -> vec2<f32> {
    if S == 1u { return vec2(with_left(x, r, 0u), with_right(z, r, 0u)); }
    return whole(r, t);
}
fn product(x: ptr<function, array<vec4<f32>, E>>, r: u32, t: u32) -> f32 {
    if S == 1u { return with_left(x, r, 0u); }
    return whole(r, t).x;
}

// Keys and values of the tokens from `from` on.
fn take_keys(b: u32, g: u32, from_j: u32, t: u32) {
    workgroupBarrier(); // who still reads the last tile is waited for
    for (var e = t; e < TILE * D4; e += THREADS) {
        let j = from_j + e / D4;
        if j < p.t {
            left[e] = qkv[at_of(b, j, p.heads + g) + e % D4];
            right[e] = qkv[at_of(b, j, p.heads + p.groups + g) + e % D4];
        }
    }
    workgroupBarrier();
}

@compute @workgroup_size(64)
fn forward(@builtin(workgroup_id) w: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let b = w.y / p.heads;
    let h = w.y % p.heads;
    let g = h / (p.heads / p.groups);
    let i_0 = w.x * ROWS;
    let i = i_0 + t / S;
    let part = t % S;
    let is_one = i < p.t;
    know_forward();
    var q: array<vec4<f32>, E>;
    var sum: array<vec4<f32>, E>;
    if is_one { for (var c = 0u; c < E; c++) { q[c] = p.scale * qkv[at_of(b, i, h) + part * E + c]; } }
    var most = -3.4e38;
    var all = 0.0;
    let end = min(p.t, i_0 + ROWS);
    for (var j_0 = select(0u, i_0 + 1u - p.window, i_0 + 1u > p.window); j_0 < end; j_0 += TILE) {
        take_keys(b, g, j_0, t);
        give_product(&q, t);
        for (var r = 0u; r < TILE; r++) {
            if !sees(i, j_0 + r) { continue; }
            let s = score(product(&q, r, t));
            if s > most {
                let less = exp(most - s);
                all *= less;
                for (var c = 0u; c < E; c++) { sum[c] *= less; }
                most = s;
            }
            let e = exp(s - most);
            all += e;
            let left_of_it = e * mask(w.y * p.t + i, j_0 + r);
            for (var c = 0u; c < E; c++) { sum[c] = fma(vec4(left_of_it), right[r * D4 + part * E + c], sum[c]); }
        }
    }
    if is_one {
        for (var c = 0u; c < E; c++) { y[y_at(b, i, h) + part * E + c] = sum[c] / all; }
        if part == 0u { lse[w.y * p.t + i] = most + log(all); }
    }
}

// Of each sequence the heads' queries, and behind them the groups' keys: neither waits for the other.
@compute @workgroup_size(64)
fn backward(@builtin(workgroup_id) w: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let b = w.y / (p.heads + p.groups);
    let n = w.y % (p.heads + p.groups);
    know_backward();
    if n < p.heads { back_to_queries(b, n, w.x * ROWS, t); } else { back_to_keys(b, n - p.heads, w.x * ROWS, t); }
}

// dq.
fn back_to_queries(b: u32, h: u32, i_0: u32, t: u32) {
    let g = h / (p.heads / p.groups);
    let i = i_0 + t / S;
    let part = t % S;
    let is_one = i < p.t;
    var q: array<vec4<f32>, E>;
    var of_y: array<vec4<f32>, E>;
    var dq: array<vec4<f32>, E>;
    var of_d = 0.0;
    var mine = 0.0;
    if is_one {
        for (var c = 0u; c < E; c++) {
            q[c] = p.scale * qkv[at_of(b, i, h) + part * E + c];
            of_y[c] = dy[y_at(b, i, h) + part * E + c];
            of_d += dot(of_y[c], known_y[y_at(b, i, h) + part * E + c]);
        }
        mine = known_lse[(b * p.heads + h) * p.t + i];
    }
    parts[t] = vec2(of_d, 0.0);
    workgroupBarrier();
    let d = whole(0u, t).x;
    let end = min(p.t, i_0 + ROWS);
    for (var j_0 = select(0u, i_0 + 1u - p.window, i_0 + 1u > p.window); j_0 < end; j_0 += TILE) {
        take_keys(b, g, j_0, t);
        give_products(&q, &of_y, t);
        for (var r = 0u; r < TILE; r++) {
            if !sees(i, j_0 + r) { continue; }
            let both = products(&q, &of_y, r, t);
            let of_p = mask((b * p.heads + h) * p.t + i, j_0 + r) * both.y;
            let ds = p.scale * exp(score(both.x) - mine) * (of_p - d) * slope(both.x);
            for (var c = 0u; c < E; c++) { dq[c] = fma(vec4(ds), left[r * D4 + part * E + c], dq[c]); }
        }
    }
    if is_one { for (var c = 0u; c < E; c++) { put_gradient(at_of(b, i, h) + part * E + c, dq[c]); } }
}

// dk and dv of a key of a group; the group's heads one after the other.
fn back_to_keys(b: u32, g: u32, j_0: u32, t: u32) {
    let j = j_0 + t / S;
    let part = t % S;
    let is_one = j < p.t;
    let of_k = p.heads + g;
    let of_v = p.heads + p.groups + g;
    var k: array<vec4<f32>, E>;
    var v: array<vec4<f32>, E>;
    var dk: array<vec4<f32>, E>;
    var dv: array<vec4<f32>, E>;
    if is_one {
        for (var c = 0u; c < E; c++) {
            k[c] = p.scale * qkv[at_of(b, j, of_k) + part * E + c];
            v[c] = qkv[at_of(b, j, of_v) + part * E + c];
        }
    }
    let end = min(p.t, j_0 + ROWS - 1u + p.window);
    for (var n = 0u; n < p.heads / p.groups; n++) {
        let h = g * (p.heads / p.groups) + n;
        for (var i_0 = j_0; i_0 < end; i_0 += TILE) {
            workgroupBarrier(); // who still reads the last tile is waited for
            for (var e = t; e < TILE * D4; e += THREADS) {
                let i = i_0 + e / D4;
                if i < p.t {
                    left[e] = qkv[at_of(b, i, h) + e % D4];
                    right[e] = dy[y_at(b, i, h) + e % D4];
                    parts[e].x = dot(right[e], known_y[y_at(b, i, h) + e % D4]);
                }
            }
            workgroupBarrier();
            take_masks((b * p.heads + h) * p.t + i_0, TILE, j_0, BLOCKS, t);
            for (var r = t; r < TILE; r += THREADS) {
                let row = (b * p.heads + h) * p.t + i_0 + r;
                var d = 0.0;
                for (var c = 0u; c < D4; c++) { d += parts[r * D4 + c].x; }
                if i_0 + r < p.t { of_row[r] = vec2(known_lse[row], d); }
            }
            workgroupBarrier();
            give_products(&k, &v, t);
            for (var r = 0u; r < TILE; r++) {
                if !sees(i_0 + r, j) { continue; }
                let both = products(&k, &v, r, t);
                let weight = exp(score(both.x) - of_row[r].x);
                let m = mask_in_tile(r, t / S, j, BLOCKS);
                let ds = p.scale * weight * (m * both.y - of_row[r].y) * slope(both.x);
                for (var c = 0u; c < E; c++) {
                    dk[c] = fma(vec4(ds), left[r * D4 + part * E + c], dk[c]);
                    dv[c] = fma(vec4(m * weight), right[r * D4 + part * E + c], dv[c]);
                }
            }
        }
    }
    if is_one {
        for (var c = 0u; c < E; c++) {
            put_gradient(at_of(b, j, of_k) + part * E + c, dk[c]);
            put_gradient(at_of(b, j, of_v) + part * E + c, dv[c]);
        }
    }
}
