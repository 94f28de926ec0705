// Numbers of B that are read four at a time: all of the four are there, or none.
@group(0) @binding(2) var<storage, read> b: array<vec4<f32>>;
fn four_of_b(at: u32, there: u32) -> Four {
    if there == 0u { return Four(); }
    return Four(rounded(p.b_times * b[at / 4u]));
}
