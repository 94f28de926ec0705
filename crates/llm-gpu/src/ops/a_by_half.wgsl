// Numbers of A that are stored as f16, multiplied already: four in two words.
@group(0) @binding(1) var<storage, read> a: array<Stored>;
fn four_of_a(at: u32, there: u32) -> Four {
    if there == 0u { return Four(); }
    return stored(a[at / 4u]);
}
