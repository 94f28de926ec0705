// Numbers of B that are stored as f16, multiplied already: four in two words.
@group(0) @binding(2) var<storage, read> b: array<Stored>;
fn four_of_b(at: u32, there: u32) -> Four {
    if there == 0u { return Four(); }
    return stored(b[at / 4u]);
}
