// Numbers of A that begin anywhere.
@group(0) @binding(1) var<storage, read> a: array<f32>;
fn four_of_a(at: u32, there: u32) -> Four {
    var v = vec4(0.0);
    if there > 0u { v.x = a[at]; }
    if there > 1u { v.y = a[at + 1u]; }
    if there > 2u { v.z = a[at + 2u]; }
    if there > 3u { v.w = a[at + 3u]; }
    return Four(rounded(p.a_times * v));
}
