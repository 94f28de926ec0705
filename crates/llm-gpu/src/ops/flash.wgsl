// y_i = Σ_j P_ij·v_j over the keys j that query i sees, P_ij = e^(s_ij − lse_i), s_ij = scale·q_i·k_j,
// lse_i = ln Σ_j e^s_ij. With δ_i = dy_i·y_i and dS_ij = P_ij·(dy_i·v_j − δ_i):
// dq_i = scale·Σ_j dS_ij·k_j,  dk_j = scale·Σ_i dS_ij·q_i,  dv_j = Σ_i P_ij·dy_i.
// A thread for a query, or for a key on the way back; tiles of the others pass by. Nothing of [T, T] is stored, and every
// sum has one writer, in rising order. In front of this text stand D4, a quarter of a head's width, and TILE.
// Reference: Dao et al., "FlashAttention".
struct Sizes { t: u32, window: u32, heads: u32, groups: u32, scale: f32 }
const THREADS: u32 = 64u;
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read> qkv: array<vec4<f32>>; // [B, T, (H + 2G)·D]
@group(0) @binding(2) var<storage, read_write> y: array<vec4<f32>>; // [B, T, H·D]
@group(0) @binding(3) var<storage, read_write> lse: array<f32>; // [B, H, T]
@group(0) @binding(2) var<storage, read> dy: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> known_lse: array<f32>;
@group(0) @binding(4) var<storage, read_write> dqkv: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> delta: array<f32>; // [B, H, T]
@group(0) @binding(6) var<storage, read> known_y: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> known_delta: array<f32>;

var<workgroup> left: array<vec4<f32>, TILE * D4>; // keys, or queries
var<workgroup> right: array<vec4<f32>, TILE * D4>; // values, or dy
var<workgroup> of_row: array<vec2<f32>, TILE>; // lse and δ of a query

fn sees(i: u32, j: u32) -> bool { return j <= i && j + p.window > i; }
fn width() -> u32 { return (p.heads + 2u * p.groups) * D4; }
// Where q, k or v of a token begins: `part` counts heads from q's first to v's last.
fn at_of(b: u32, i: u32, part: u32) -> u32 { return (b * p.t + i) * width() + part * D4; }
fn y_at(b: u32, i: u32, h: u32) -> u32 { return ((b * p.t + i) * p.heads + h) * D4; }

fn with_left(x: ptr<function, array<vec4<f32>, D4>>, row: u32) -> f32 {
    var s = vec4(0.0);
    for (var c = 0u; c < D4; c++) { s = fma((*x)[c], left[row * D4 + c], s); }
    return (s.x + s.y) + (s.z + s.w);
}

fn with_right(x: ptr<function, array<vec4<f32>, D4>>, row: u32) -> f32 {
    var s = vec4(0.0);
    for (var c = 0u; c < D4; c++) { s = fma((*x)[c], right[row * D4 + c], s); }
    return (s.x + s.y) + (s.z + s.w);
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
    let i_0 = w.x * THREADS;
    let i = i_0 + t;
    let is_one = i < p.t;
    var q: array<vec4<f32>, D4>;
    var sum: array<vec4<f32>, D4>;
    if is_one { for (var c = 0u; c < D4; c++) { q[c] = p.scale * qkv[at_of(b, i, h) + c]; } }
    var most = -3.4e38;
    var whole = 0.0;
    let end = min(p.t, i_0 + THREADS);
    for (var j_0 = select(0u, i_0 + 1u - p.window, i_0 + 1u > p.window); j_0 < end; j_0 += TILE) {
        take_keys(b, g, j_0, t);
        for (var r = 0u; r < TILE; r++) {
            if !is_one || !sees(i, j_0 + r) { continue; }
            let s = with_left(&q, r);
            if s > most {
                let less = exp(most - s);
                whole *= less;
                for (var c = 0u; c < D4; c++) { sum[c] *= less; }
                most = s;
            }
            let e = exp(s - most);
            whole += e;
            for (var c = 0u; c < D4; c++) { sum[c] = fma(vec4(e), right[r * D4 + c], sum[c]); }
        }
    }
    if is_one {
        for (var c = 0u; c < D4; c++) { y[y_at(b, i, h) + c] = sum[c] / whole; }
        lse[w.y * p.t + i] = most + log(whole);
    }
}

// dq and δ, a thread for a query.
@compute @workgroup_size(64)
fn back_to_queries(@builtin(workgroup_id) w: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let b = w.y / p.heads;
    let h = w.y % p.heads;
    let g = h / (p.heads / p.groups);
    let i_0 = w.x * THREADS;
    let i = i_0 + t;
    let is_one = i < p.t;
    var q: array<vec4<f32>, D4>;
    var of_y: array<vec4<f32>, D4>;
    var dq: array<vec4<f32>, D4>;
    var d = 0.0;
    var mine = 0.0;
    if is_one {
        for (var c = 0u; c < D4; c++) {
            q[c] = p.scale * qkv[at_of(b, i, h) + c];
            of_y[c] = dy[y_at(b, i, h) + c];
            d += dot(of_y[c], known_y[y_at(b, i, h) + c]);
        }
        mine = known_lse[w.y * p.t + i];
        delta[w.y * p.t + i] = d;
    }
    let end = min(p.t, i_0 + THREADS);
    for (var j_0 = select(0u, i_0 + 1u - p.window, i_0 + 1u > p.window); j_0 < end; j_0 += TILE) {
        take_keys(b, g, j_0, t);
        for (var r = 0u; r < TILE; r++) {
            if !is_one || !sees(i, j_0 + r) { continue; }
            let weight = exp(with_left(&q, r) - mine);
            let ds = p.scale * weight * (with_right(&of_y, r) - d);
            for (var c = 0u; c < D4; c++) { dq[c] = fma(vec4(ds), left[r * D4 + c], dq[c]); }
        }
    }
    if is_one { for (var c = 0u; c < D4; c++) { dqkv[at_of(b, i, h) + c] = dq[c]; } }
}

// dk and dv, a thread for a key of a group; the group's heads one after the other.
@compute @workgroup_size(64)
fn back_to_keys(@builtin(workgroup_id) w: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let b = w.y / p.groups;
    let g = w.y % p.groups;
    let j_0 = w.x * THREADS;
    let j = j_0 + t;
    let is_one = j < p.t;
    let of_k = p.heads + g;
    let of_v = p.heads + p.groups + g;
    var k: array<vec4<f32>, D4>;
    var v: array<vec4<f32>, D4>;
    var dk: array<vec4<f32>, D4>;
    var dv: array<vec4<f32>, D4>;
    if is_one {
        for (var c = 0u; c < D4; c++) {
            k[c] = p.scale * qkv[at_of(b, j, of_k) + c];
            v[c] = qkv[at_of(b, j, of_v) + c];
        }
    }
    let end = min(p.t, j_0 + THREADS - 1u + p.window);
    for (var n = 0u; n < p.heads / p.groups; n++) {
        let h = g * (p.heads / p.groups) + n;
        for (var i_0 = j_0; i_0 < end; i_0 += TILE) {
            workgroupBarrier(); // who still reads the last tile is waited for
            for (var e = t; e < TILE * D4; e += THREADS) {
                let i = i_0 + e / D4;
                if i < p.t {
                    left[e] = qkv[at_of(b, i, h) + e % D4];
                    right[e] = dy[y_at(b, i, h) + e % D4];
                }
            }
            for (var r = t; r < TILE; r += THREADS) {
                let row = (b * p.heads + h) * p.t + i_0 + r;
                if i_0 + r < p.t { of_row[r] = vec2(known_lse[row], known_delta[row]); }
            }
            workgroupBarrier();
            for (var r = 0u; r < TILE; r++) {
                if !is_one || i_0 + r >= p.t || !sees(i_0 + r, j) { continue; }
                let weight = exp(with_left(&k, r) - of_row[r].x);
                let ds = p.scale * weight * (with_right(&v, r) - of_row[r].y);
                for (var c = 0u; c < D4; c++) {
                    dk[c] = fma(vec4(ds), left[r * D4 + c], dk[c]);
                    dv[c] = fma(vec4(weight), right[r * D4 + c], dv[c]);
                }
            }
        }
    }
    if is_one {
        for (var c = 0u; c < D4; c++) {
            dqkv[at_of(b, j, of_k) + c] = dk[c];
            dqkv[at_of(b, j, of_v) + c] = dv[c];
        }
    }
}
