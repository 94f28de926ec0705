// Operands that begin anywhere.
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
fn four_of_a(at: u32, there: u32) -> vec4<f32> {
    var v = vec4(0.0);
    if there > 0u { v.x = a[at]; }
    if there > 1u { v.y = a[at + 1u]; }
    if there > 2u { v.z = a[at + 2u]; }
    if there > 3u { v.w = a[at + 3u]; }
    return v;
}
fn four_of_b(at: u32, there: u32) -> vec4<f32> {
    var v = vec4(0.0);
    if there > 0u { v.x = b[at]; }
    if there > 1u { v.y = b[at + 1u]; }
    if there > 2u { v.z = b[at + 2u]; }
    if there > 3u { v.w = b[at + 3u]; }
    return v;
}
fn one_of_b(at: u32) -> f32 { return b[at]; }
