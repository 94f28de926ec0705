// Operands whose numbers can be read four at a time: all of the four are there, or none.
@group(0) @binding(1) var<storage, read> a: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> b: array<vec4<f32>>;
fn four_of_a(at: u32, there: u32) -> vec4<f32> {
    if there == 0u { return vec4(0.0); }
    return a[at / 4u];
}
fn four_of_b(at: u32, there: u32) -> vec4<f32> {
    if there == 0u { return vec4(0.0); }
    return b[at / 4u];
}
fn one_of_b(at: u32) -> f32 {
    let four = b[at / 4u];
    return four[at % 4u];
}
