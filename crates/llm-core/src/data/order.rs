//! Windows of a text, or its documents, in shuffled passes.
//!
//! Which window comes when is a permutation of their numbers, keyed by seed and pass: a function of
//! (seed, pass, number) without a state, so a run that goes on, and any number of processes, take the
//! same. The permutation is a Feistel network, whose numbers beyond the last window are sent through
//! once more until one is a window's.
//!
//! Reference: Black, Rogaway, "Ciphers with Arbitrary Finite Domains", for walking along a cycle.

use crate::base::rng::stream;
use crate::model::Origin;
use rand::RngCore;

/// Rounds of the network.
const ROUNDS: usize = 4;

/// A permutation of `0..len`.
struct Permutation {
    keys: [u64; ROUNDS],
    /// Bits of one of the two halves of a number.
    half: u32,
    len: u64,
}

impl Permutation {
    fn new(seed: u64, pass: u64, len: u64) -> Permutation {
        let mut rng = stream(seed, b"shuffled", pass, 0);
        let bits = u64::BITS - len.saturating_sub(1).leading_zeros();
        let keys = std::array::from_fn(|_| rng.next_u64());
        Permutation { keys, half: bits.div_ceil(2).max(1), len }
    }

    fn at(&self, number: u64) -> u64 {
        let mask = (1 << self.half) - 1;
        let mut x = number;
        loop {
            let (mut left, mut right) = (x >> self.half, x & mask);
            for key in self.keys {
                (left, right) = (right, left ^ (mixed(right ^ key) & mask));
            }
            x = left << self.half | right;
            if x < self.len {
                return x;
            }
        }
    }
}

/// A number whose bits depend on all bits of x: the end of SplitMix64.
fn mixed(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// The pass that a row belongs to, and which of `windows` it is there.
pub(super) fn of_row(origin: Origin, row: u64, windows: u64) -> (u64, u64) {
    let Origin { seed, step, first_row, step_rows, .. } = origin;
    let rows = step_rows.max(1);
    let number = step.wrapping_mul(rows).wrapping_add(first_row).wrapping_add(row);
    let (pass, number) = (number / windows, number % windows);
    (pass, Permutation::new(seed, pass, windows).at(number))
}

/// Where a window of T tokens begins in a text in which one may begin at `0..room`. The windows of a pass
/// lie side by side, and stand elsewhere in each pass but the first: their edges are not always the same.
pub(super) fn start_of_row(origin: Origin, row: u64, room: usize, seq_len: usize) -> usize {
    let windows = (room - 1).div_ceil(seq_len) + 1;
    let (pass, window) = of_row(origin, row, windows as u64);
    let shift = match pass {
        0 => 0,
        _ => stream(origin.seed, b"shifted\0", pass, 0).next_u64() % seq_len as u64,
    };
    (window as usize * seq_len + shift as usize).min(room - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokenDataset;
    use crate::model::WindowOrder;
    use proptest::prelude::*;

    proptest! {
        /// Every number comes once.
        #[test]
        fn a_permutation(len in 1u64..3000, seed: u64, pass: u64) {
            let all = Permutation::new(seed, pass, len);
            let mut seen = vec![false; len as usize];
            (0..len).for_each(|number| seen[all.at(number) as usize] = true);
            prop_assert!(seen.iter().all(|&seen| seen));
        }

        /// Every token of a text that has one after it is an input once before any is twice, but for a last
        /// window that begins early; later passes leave out less than a window at the beginning.
        #[test]
        fn each_token_once_in_a_pass(len in 20usize..400, t in 1usize..17, rows in 1u64..7) {
            let data = TokenDataset::from_tokens((0..len as u32).collect());
            let windows = (len - t - 1).div_ceil(t) + 1;
            let mut counts = vec![0; len];
            for row in 0..3 * windows as u64 {
                let origin = Origin {
                    seed: 5, step: row / rows, first_row: row % rows, step_rows: rows,
                    order: WindowOrder::Passes,
                };
                let batch = data.rows(origin, [1, t]).unwrap();
                batch.inputs.iter().for_each(|&token| counts[token as usize] += 1);
                if row + 1 == windows as u64 {
                    let twice = counts.iter().filter(|&&n| n > 1).count();
                    prop_assert!(counts[..len - 1].iter().all(|&n| n == 1 || n == 2), "{counts:?}");
                    prop_assert!(twice < t, "{counts:?}");
                }
            }
            prop_assert!(counts[t..len - 1 - t.min(len - 1 - t)].iter().all(|&n| (2..=4).contains(&n)));
        }
    }

    #[test]
    fn documents_come_once_in_a_pass_and_micro_batches_are_parts_of_a_step() {
        let starts: Vec<usize> = (0..30).map(|i| i * 10).collect();
        let data = TokenDataset::from_tokens((0..330).collect()).with_starts(starts);
        let of = |step, first_row, rows: usize| {
            let order = WindowOrder::Passes;
            let origin = Origin { seed: 3, step, first_row, step_rows: 6, order };
            let batch = data.rows(origin, [rows, 8]).unwrap();
            batch.inputs.chunks(8).map(|row| row[0]).collect::<Vec<_>>()
        };
        let mut all: Vec<_> = (0..5).flat_map(|step| of(step, 0, 6)).collect();
        assert_eq!(of(7, 0, 6), [of(7, 0, 2), of(7, 2, 4)].concat());
        assert_ne!(all, (5..10).flat_map(|step| of(step, 0, 6)).collect::<Vec<_>>());
        all.sort_unstable();
        assert_eq!(all, (0..300).step_by(10).collect::<Vec<_>>());
    }
}
