// Numbers of A that are read four at a time: all of the four are there, or none.
@group(0) @binding(1) var<storage, read> a: array<vec4<f32>>;
fn four_of_a(at: u32, there: u32) -> Four {
    if there == 0u { return Four(); }
    return Four(rounded(p.a_times * a[at / 4u]));
}
