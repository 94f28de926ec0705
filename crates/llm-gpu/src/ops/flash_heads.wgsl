// What attention in one call has with and without matrix units: sizes, what lies where, who sees whom, and scores. In front or
// behind it stand CAPPED and D4.
struct Sizes {
    t: u32, window: u32, heads: u32, groups: u32, scale: f32, cap: f32,
    place: u32, threshold: u32, kept: f32, // of masks: see dropout.wgsl
    times: f32, // what is stored as f16 is multiplied by it
    lift: f32, // and dy before it is rounded
}
@group(0) @binding(0) var<uniform> p: Sizes;
@group(0) @binding(1) var<storage, read> qkv: array<vec4<f32>>; // [B, T, (H + 2G)·D]
@group(0) @binding(2) var<storage, read_write> y: array<vec4<f32>>; // [B, T, H·D]
@group(0) @binding(3) var<storage, read_write> lse: array<f32>; // [B, H, T]
@group(0) @binding(2) var<storage, read> dy: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> known_lse: array<f32>;
@group(0) @binding(5) var<storage, read> known_y: array<vec4<f32>>;

// Whether there is a query i, and it sees key j.
fn sees(i: u32, j: u32) -> bool { return i < p.t && j <= i && j + p.window > i; }
// Some drivers' tanh of large numbers is none.
fn in_cap(s: f32) -> f32 { return tanh(clamp(s / p.cap, -10.0, 10.0)); }
fn score(s: f32) -> f32 { if CAPPED { return p.cap * in_cap(s); } return s; }
fn slope(s: f32) -> f32 { if CAPPED { return 1.0 - in_cap(s) * in_cap(s); } return 1.0; }
// Where q, k or v of a token begins: `part` counts heads from q's first to v's last.
fn at_of(b: u32, i: u32, part: u32) -> u32 { return ((b * p.t + i) * (p.heads + 2u * p.groups) + part) * D4; }
fn y_at(b: u32, i: u32, h: u32) -> u32 { return ((b * p.t + i) * p.heads + h) * D4; }
