//! How much of one text stands in another, word for word.

use super::text::Text;
use llm_core::Result;
use std::collections::HashSet;
use std::ops::Range;

/// Bytes of a passage: some twenty words, which two texts have in common only by copying.
const PASSAGE: usize = 128;
/// The number of passages that are looked for, evenly spaced over the text.
const PASSAGES: usize = 4096;
/// Bytes that are read at a time.
const PART: usize = 1 << 20;
/// The base of the polynomial h(b₀…b₁₂₇) = Σ bᵢ·B^(127−i) modulo 2^64, the hash that rolls (Karp and Rabin).
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// The share of the passages in some ranges of a text that stand anywhere in some ranges of another;
/// 0 where the ranges are too short for a passage.
///
/// # Errors
/// What reading says.
pub fn repeated(
    (text, ranges): (&Text, &[Range<usize>]),
    (other, among): (&Text, &[Range<usize>]),
) -> Result<f64> {
    let all: usize = ranges.iter().map(|range| range.len() / PASSAGE).sum();
    let apart = all.div_ceil(PASSAGES).max(1) * PASSAGE;
    let mut looked_for = Vec::new();
    for range in ranges {
        for start in range.clone().step_by(apart).filter(|start| start + PASSAGE <= range.end) {
            looked_for.push(hash(&text.read(start, PASSAGE)?));
        }
    }
    if looked_for.is_empty() {
        return Ok(0.0);
    }
    let mut found = HashSet::new();
    let sought: HashSet<u64> = looked_for.iter().copied().collect();
    // A few bits distinguish most passages from those that are sought.
    let mut few_bits = vec![false; 1 << 16];
    sought.iter().for_each(|&hash| few_bits[(hash >> 48) as usize] = true);
    let leaves = (0..PASSAGE).fold(1u64, |power, _| power.wrapping_mul(BASE));
    for range in among {
        for start in range.clone().step_by(PART) {
            let end = start.saturating_add(PART + PASSAGE - 1).min(range.end);
            let part = other.read(start, end - start)?;
            let Some((first, rest)) = part.split_at_checked(PASSAGE) else { continue };
            let mut rolling = hash(first);
            let mut see = |hash: u64| {
                if few_bits[(hash >> 48) as usize] && sought.contains(&hash) {
                    found.insert(hash);
                }
            };
            see(rolling);
            for (&enters, &left) in rest.iter().zip(part.iter()) {
                rolling = rolling.wrapping_mul(BASE).wrapping_add(enters.into());
                rolling = rolling.wrapping_sub(leaves.wrapping_mul(left.into()));
                see(rolling);
            }
        }
    }
    let again = looked_for.iter().filter(|hash| found.contains(hash)).count();
    Ok(again as f64 / looked_for.len() as f64)
}

fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |hash, &byte| hash.wrapping_mul(BASE).wrapping_add(byte.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice::from_ref;

    /// Bytes without a pattern.
    fn noise(seed: u64, len: usize) -> Vec<u8> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        (0..len).map(|_| next()).collect()
    }

    fn share(text: &[u8], other: &[u8]) -> f64 {
        let [all, among] = [0..text.len(), 0..other.len()];
        let [text, other] = [text, other].map(|bytes| Text::Memory(bytes.to_vec()));
        repeated((&text, from_ref(&all)), (&other, from_ref(&among))).unwrap()
    }

    #[test]
    fn a_copied_passage_is_found_wherever_it_stands() {
        let long = noise(1, 3 * PART);
        for start in [0, 1, 77, PART - 64, PART, 2 * PART - 127, 3 * PART - 4000] {
            assert_eq!(share(&long[start..start + 4000], &long), 1.0, "{start}");
        }
        let half = [&long[500..500 + 40 * PASSAGE], &noise(2, 40 * PASSAGE)].concat();
        assert_eq!(share(&half, &long), 0.5);
        assert_eq!(share(&noise(3, 100_000), &long), 0.0);
        for [short, other] in [[0, 0], [127, 5000], [5000, 127]] {
            assert_eq!(share(&long[..short], &long[..other]), 0.0);
        }
        // More passages than are looked for.
        assert_eq!(share(&long, &long), 1.0);
    }

    #[test]
    fn only_the_ranges_are_looked_at() {
        let text = Text::Memory(noise(1, 10_000));
        let of = |own: Range<usize>, among: Range<usize>| {
            repeated((&text, from_ref(&own)), (&text, from_ref(&among))).unwrap()
        };
        assert_eq!(of(9000..10_000, 0..9000), 0.0);
        assert_eq!(of(9000..10_000, 0..9500), 3.0 / 7.0);
        assert_eq!(of(9000..10_000, 5000..10_000), 1.0);
    }
}
