//! Dropout: each number is 0 with probability p, and otherwise multiplied by 1/(1 − p).
//!
//! y = m ∘ x,  m = 0 or 1/(1 − p)
//!
//! A row's multipliers are a pure function of (seed, step, place, row). Backward draws them again,
//! nothing is kept, and neither threads, resuming nor micro-batches change them.
//!
//! Reference: Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from
//! Overfitting", in its inverted form.

use super::parallel::{self, HEAVY};
use crate::base::rng::stream;
use crate::buffer::Buffer;
use rand::RngCore;

/// Steps of probability: a number is dropped when 16 random bits are below p·2¹⁶.
const GRAIN: f32 = 65_536.0;

/// The masks of a batch: multipliers by row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// 16 random bits below this mean 0.
    threshold: u16,
    /// 1/(1 − p), p as rounded in the threshold.
    scale: f32,
    seed: u64,
    step: u64,
    /// Number of the batch's first sequence within the step.
    first_sequence: u64,
    place: u64,
    first_row: u64,
}

impl Dropout {
    /// Rows that the key has room for.
    const ROW_BITS: u32 = 40;

    /// Probability `rate` (0 ≤ rate < 1, in steps of 2⁻¹⁶) for the sequences of `step` from
    /// number `first_sequence` on; `None` for 0.
    pub fn new(rate: f32, seed: u64, step: u64, first_sequence: u64) -> Option<Dropout> {
        let threshold = (rate * GRAIN).clamp(0.0, GRAIN - 1.0) as u16;
        let scale = GRAIN / (GRAIN - f32::from(threshold));
        let (place, first_row) = (0, 0);
        let masks = Dropout { threshold, scale, seed, step, first_sequence, place, first_row };
        (threshold > 0).then_some(masks)
    }

    /// The masks of a place, by its number below 2²⁴, each sequence with `rows_per_sequence` rows.
    pub fn at(self, place: impl Into<u64>, rows_per_sequence: usize) -> Dropout {
        let first_row = self.first_sequence.wrapping_mul(rows_per_sequence as u64);
        Dropout { place: place.into(), first_row, ..self }
    }

    /// 16 random bits below the first mean 0, everything else the second; the number of the place:
    /// with the seed, the step and the row, all that somebody else needs to draw the same.
    pub fn decided_by(&self) -> (u16, f32, u64) {
        (self.threshold, self.scale, self.place)
    }

    /// These masks from row `rows` on.
    pub fn skip(self, rows: usize) -> Dropout {
        Dropout { first_row: self.first_row.wrapping_add(rows as u64), ..self }
    }

    /// The multipliers of row `row`, as many as `out` has room for.
    pub fn multipliers(&self, row: usize, out: &mut [f32]) {
        let key = self.place << Dropout::ROW_BITS | self.skip(row).first_row;
        let mut rng = stream(self.seed, b"dropout\0", self.step, key);
        let mut bits = [0u8; 512];
        for out in out.chunks_mut(bits.len() / 2) {
            let bits = &mut bits[..2 * out.len()];
            rng.fill_bytes(bits);
            for (m, pair) in out.iter_mut().zip(bits.as_chunks::<2>().0) {
                *m = if u16::from_le_bytes(*pair) < self.threshold { 0.0 } else { self.scale };
            }
        }
    }
}

/// y ← m ∘ x for rows of `width`; the same for a gradient.
pub fn apply(y: &mut [f32], x: &[f32], width: usize, masks: &Dropout) {
    parallel::rows(y, width, HEAVY, |first, y| {
        let mut m = Buffer::stale(width);
        let x = &x[first * width..first * width + y.len()];
        for (r, (y, x)) in y.chunks_exact_mut(width).zip(x.chunks_exact(width)).enumerate() {
            masks.multipliers(first + r, &mut m);
            for ((y, x), m) in y.iter_mut().zip(x).zip(m.iter()) {
                *y = x * m;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_numbers_is_zero_and_the_mean_stays() {
        for rate in [0.1, 0.5, 0.9] {
            let masks = Dropout::new(rate, 1, 7, 0).unwrap().at(0u64, 400);
            let (n, width) = (400, 250);
            let mut y = vec![f32::NAN; n * width];
            apply(&mut y, &vec![1.0; n * width], width, &masks);
            let zeros = y.iter().filter(|&&y| y == 0.0).count() as f32 / y.len() as f32;
            let mean = y.iter().sum::<f32>() / y.len() as f32;
            assert!((zeros - rate).abs() < 0.01, "{zeros} of {rate}");
            assert!((mean - 1.0).abs() < 0.03, "{mean}");
        }
        assert_eq!(Dropout::new(0.0, 1, 7, 0), None);
    }

    #[test]
    fn masks_are_pure_functions_of_their_place() {
        let row = |masks: Dropout, row: usize| {
            let mut m = vec![f32::NAN; 700]; // more than one fill of the random bits
            masks.multipliers(row, &mut m);
            m
        };
        let new = |seed, step, first| Dropout::new(0.3, seed, step, first).unwrap();
        let mlp = |masks: Dropout| masks.at(6u64, 4);
        let base = row(mlp(new(1, 7, 2)), 5);
        assert_eq!(base, row(mlp(new(1, 7, 0)), 13), "rows are counted through");
        assert_eq!(base, row(mlp(new(1, 7, 0)).skip(10), 3));
        for other in [
            row(new(1, 7, 2).at(4u64, 4), 5),
            row(new(1, 7, 2).at(9u64, 4), 5),
            row(mlp(new(1, 7, 2)), 6),
            row(mlp(new(2, 7, 2)), 5),
            row(mlp(new(1, 8, 2)), 5),
        ] {
            assert_ne!(base, other);
        }
        let mut short = vec![0.0; 100];
        mlp(new(1, 7, 2)).multipliers(5, &mut short);
        assert_eq!(base[..100], short);
    }
}
