//! Random streams that are pure functions of what they are for.
//!
//! Nothing in this crate keeps a generator between steps: code that needs random numbers asks for
//! the stream of (seed, purpose, a, b), for example (seed, "batch", step, row). A resumed run
//! therefore needs no generator state to go on exactly where it stopped.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The stream of (seed, purpose, a, b).
///
/// The four values are the 32 bytes of a ChaCha8 key, so different streams are independent and
/// the numbers are the same on every machine and in every version of this program.
pub fn stream(seed: u64, purpose: &[u8; 8], a: u64, b: u64) -> ChaCha8Rng {
    let mut key = [0u8; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(purpose);
    key[16..24].copy_from_slice(&a.to_le_bytes());
    key[24..].copy_from_slice(&b.to_le_bytes());
    ChaCha8Rng::from_seed(key)
}

/// A number in 0..n, each equally likely.
///
/// # Panics
/// When n is 0: there is nothing to choose from.
pub fn below(rng: &mut ChaCha8Rng, n: usize) -> usize {
    // Drawn as u64, so that the choice does not depend on the machine's word size.
    rng.random_range(0..n as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that every version has to give: batches, weights and samples follow from them. They
    /// were computed from the definition of ChaCha8, not with this crate.
    #[test]
    fn streams_are_golden() {
        let mut batch = stream(1, b"batch\0\0\0", 2, 3);
        assert_eq!(
            [0, 0, 0].map(|_| batch.random::<u64>()),
            [17_604_944_208_951_100_374, 17_296_892_670_031_573_981, 6_199_536_024_915_661_955]
        );
        let mut sample = stream(u64::MAX, b"sample\0\0", 0, u64::MAX);
        assert_eq!([10, 1000, 1 << 40].map(|n| below(&mut sample, n)), [9, 359, 690591865257]);
    }

    #[test]
    fn streams_are_distinct() {
        let draw = |s, p: &[u8; 8], a, b| stream(s, p, a, b).random::<u64>();
        assert_eq!(draw(1, b"batch\0\0\0", 2, 3), draw(1, b"batch\0\0\0", 2, 3));
        let all = [
            draw(1, b"batch\0\0\0", 2, 3),
            draw(2, b"batch\0\0\0", 2, 3),
            draw(1, b"sample\0\0", 2, 3),
            draw(1, b"batch\0\0\0", 3, 3),
            draw(1, b"batch\0\0\0", 2, 4),
        ];
        for (i, x) in all.iter().enumerate() {
            assert!(!all[..i].contains(x));
        }
    }
}
