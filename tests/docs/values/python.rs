//! Where rows of batches begin.

use super::Values;
use llm_core::TokenDataset;

/// Seed, step, row, and the number of places.
const OF: [(u64, u64, usize, usize); 5] = [
    (1, 0, 0, 1000),
    (1, 0, 1, 1000),
    (1, 1, 0, 1000),
    (2, 0, 0, 1000),
    (1337, 5000, 11, 1_000_000),
];

pub fn add(values: &mut Values) {
    let rows = OF.map(|(seed, step, row, places)| {
        // Tokens that say where they stand, one more than the places of windows of one.
        let data = TokenDataset::from_tokens((0..=places as u32).collect());
        let batch = data.batch(seed, step, [row + 1, 1]).unwrap();
        [seed as f64, step as f64, row as f64, places as f64, f64::from(batch.inputs[row])]
    });
    values.insert("python.starts", rows.as_flattened().to_vec());
    values.insert("python.range", vec![2.0, f64::from(u64::BITS)]);
}
