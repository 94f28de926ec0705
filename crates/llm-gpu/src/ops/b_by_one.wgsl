// Numbers of B that begin anywhere.
@group(0) @binding(2) var<storage, read> b: array<f32>;
fn four_of_b(at: u32, there: u32) -> Four {
    var v = vec4(0.0);
    if there > 0u { v.x = b[at]; }
    if there > 1u { v.y = b[at + 1u]; }
    if there > 2u { v.z = b[at + 2u]; }
    if there > 3u { v.w = b[at + 3u]; }
    return Four(rounded(p.b_times * v));
}
