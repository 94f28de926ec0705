//! In which order passages are learned.

use super::Window;
use crate::base::rng::{below, stream};
use crate::base::{Result, memory};
use rand_chacha::ChaCha8Rng;

/// Steps among which passages are sorted by length: together they have all lengths.
const STEPS: usize = 64;

/// One pass over all passages, cut into steps of like length.
///
/// Each passage comes once, and what the last step lacks is filled up with passages that come
/// again. They are shuffled, sorted by length among 64 steps, cut into steps, and the steps
/// shuffled: a step is filled up with little padding, and what is long does not come last.
pub(super) struct Pass {
    seed: u64,
    number: u64,
    /// Rows of a step.
    rows: usize,
    /// Numbers of windows, step after step, within one the shortest first.
    order: Vec<usize>,
    /// What counts in each step.
    pub targets: Vec<u64>,
}

impl Pass {
    /// The pass that a step of `rows` windows belongs to, and its place in it.
    pub fn of(step: u64, windows: usize, rows: usize) -> (u64, usize) {
        let steps = windows.div_ceil(rows) as u64;
        (step / steps, (step % steps) as usize)
    }

    /// Pass `number`; `counted` are each window's targets.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) when a step has more rows than there is memory for their numbers.
    pub fn new(
        windows: &[Window],
        counted: impl Fn(Window) -> usize,
        seed: u64,
        number: u64,
        rows: usize,
    ) -> Result<Pass> {
        let all = windows.len().div_ceil(rows).saturating_mul(rows);
        memory::require((all as u64).saturating_mul(size_of::<usize>() as u64))?;
        let rng = &mut stream(seed, b"passages", number, 0);
        let mut order = Vec::with_capacity(all);
        while order.len() < all {
            let mut each: Vec<usize> = (0..windows.len()).collect();
            shuffle(rng, &mut each, 1);
            order.extend(each.into_iter().take(all - order.len()));
        }
        for bucket in order.chunks_mut(rows.saturating_mul(STEPS)) {
            bucket.sort_by_key(|&i| windows[i].len);
            shuffle(rng, bucket, rows);
        }
        let of_step = |step: &[usize]| step.iter().map(|&i| counted(windows[i]) as u64).sum();
        let targets = order.chunks(rows).map(of_step).collect();
        Ok(Pass { seed, number, rows, order, targets })
    }

    /// Whether it is this one.
    pub fn is(&self, seed: u64, number: u64, rows: usize) -> bool {
        (self.seed, self.number, self.rows) == (seed, number, rows)
    }

    /// The numbers of a step's windows.
    pub fn step(&self, place: usize) -> &[usize] {
        &self.order[place * self.rows..][..self.rows]
    }
}

/// Groups of `size` neighbours in any order.
fn shuffle(rng: &mut ChaCha8Rng, of: &mut [usize], size: usize) {
    for last in (1..of.len() / size).rev() {
        let other = below(rng, last + 1);
        if other < last {
            let (before, from) = of.split_at_mut(last * size);
            before[other * size..][..size].swap_with_slice(&mut from[..size]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokenDataset;
    use crate::base::rng::stream;
    use crate::model::Origin;
    use rand::Rng;

    /// Passages of these lengths one behind the other, every other target of which counts.
    fn data(lens: &[usize]) -> TokenDataset {
        let mut start = 0;
        let windows = lens.iter().map(|&len| {
            start += len + 1;
            Window { start: start - len - 1, len }
        });
        let windows: Vec<Window> = windows.collect();
        let counts = (0..start).map(|i| i % 2 == 0 || lens.len() > 50).collect();
        let tokens = (0..start).map(|i| i as u32).collect();
        TokenDataset::from_tokens(tokens).with_passages(windows, counts).unwrap()
    }

    /// Each passage comes as often as any other, and once in each pass.
    #[test]
    fn each_comes_once_in_a_pass() {
        let lens: Vec<usize> = (0..23).map(|i| 2 + i * 7 % 40).collect();
        let windows: Vec<Window> = lens.iter().map(|&len| Window { start: 0, len }).collect();
        for rows in [1, 4, 10, 23, 24, 50] {
            let mut seen = vec![0u32; 23];
            let passes = 400;
            for number in 0..passes {
                let pass = Pass::new(&windows, |w| w.len, 3, number, rows).unwrap();
                let mut once = vec![0u32; 23];
                pass.order.iter().for_each(|&i| once[i] += 1);
                let all = (23usize.div_ceil(rows) * rows) as u32;
                assert!(once.iter().all(|&n| n == all / 23 || n == all / 23 + 1), "{once:?}");
                seen.iter_mut().zip(&once).for_each(|(n, more)| *n += more);
                let steps = pass.order.chunks(rows).zip(&pass.targets);
                for (place, (step, &targets)) in steps.enumerate() {
                    assert_eq!(pass.step(place), step);
                    assert!(step.is_sorted_by_key(|&i| lens[i]));
                    assert_eq!(targets, step.iter().map(|&i| lens[i] as u64).sum::<u64>());
                }
            }
            let mean = f64::from(seen.iter().sum::<u32>()) / 23.0;
            assert!(seen.iter().all(|&n| (f64::from(n) - mean).abs() < 0.25 * mean), "{seen:?}");
        }
        let of = |step| Pass::of(step, 23, 10);
        assert_eq!([0, 2, 3, 7].map(of), [(0, 0), (0, 2), (1, 0), (2, 1)]);
    }

    /// The same rows of a step, however they are cut into micro-batches, and whoever asked before.
    #[test]
    fn a_step_is_a_function_of_seed_step_and_rows() {
        let lens: Vec<usize> = (0..30).map(|i| 3 + i * 11 % 60).collect();
        let firsts = |data: &TokenDataset, seed, step, size: usize| {
            let mut firsts = Vec::new();
            for first_row in (0..12).step_by(size) {
                let origin = Origin { seed, step, first_row, step_rows: 12, ..Origin::default() };
                let batch = data.rows(origin, [size, 64]).unwrap();
                let all = data.batch(seed, step, [12, 64]).unwrap();
                assert_eq!(batch.step_targets, Some(all.counted() as u64));
                firsts.extend(batch.inputs.chunks(batch.shape[1]).map(|row| row[0]));
            }
            firsts
        };
        let one = data(&lens);
        let whole = firsts(&one, 1, 5, 12);
        for size in [1, 2, 3, 6] {
            assert_eq!(firsts(&one, 1, 5, size), whole, "{size}");
        }
        assert_ne!(firsts(&one, 2, 5, 12), whole);
        assert_ne!(firsts(&one, 1, 6, 12), whole);
        assert_eq!((firsts(&data(&lens), 1, 5, 4), firsts(&one, 1, 5, 4)), (whole.clone(), whole));
    }

    /// Padding is at most a tenth of what a step of 200 passages computes.
    #[test]
    fn little_is_padding() {
        let mut rng = stream(1, b"lengths\0", 0, 0);
        let even: Vec<usize> = (0..200).map(|_| rng.random_range(10..=500)).collect();
        let mut many = |median: f64, spread: f64| -> Vec<usize> {
            let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
            let mut len = || median * libm::exp(spread * normal());
            (0..200).map(|_| len().clamp(4.0, 511.0) as usize).collect()
        };
        for lens in [even, many(150.0, 0.5), many(150.0, 0.8), many(80.0, 0.5)] {
            let data = data(&lens);
            for rows in [4, 6, 8, 10, 12] {
                let (mut padding, mut computed) = (0, 0);
                for step in 0..200u64.div_ceil(rows) {
                    let batch = data.batch(1, step, [rows as usize, 512]).unwrap();
                    computed += batch.inputs.len();
                    padding += batch.inputs.len() - batch.counted();
                }
                let share = padding as f64 / computed as f64;
                assert!(share <= 0.1, "{rows} rows: {share}");
            }
        }
    }
}
