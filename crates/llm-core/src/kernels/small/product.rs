//! Y ← Y + X·W with small numbers, for a few rows.

use super::block::{SmallKind, WIDTH};
use super::matrix::SmallMatrix;
use super::{halves, wholes};
use crate::kernels::math::LANES;
use crate::kernels::parallel;

/// Weights that are worth a thread of their own.
const SHARE: usize = 1 << 18;

/// Y ← Y + X·W for `rows` rows. Each output adds up 32 products at a time, and these sums in the order of the
/// inputs, whatever the number of threads and of rows.
///
/// With bf16 the products are those of f32. q8 and q4 are whole numbers and meet whole numbers: each
/// 32 inputs are rounded to 16 bits and a scale, 258 times as fine as q8 keeps weights.
///
/// # Shapes
/// `x [rows, K]`, `w [K, N]`, `y [rows, N]`; `partial` is room to work in, and grows when it is too small.
pub fn add_product(y: &mut [f32], x: &[f32], w: &SmallMatrix, rows: usize, partial: &mut Vec<f32>) {
    let [k, n] = w.shape();
    let blocks = k.div_ceil(WIDTH);
    // Where 32 does not divide K, the last block ends with zeros, as that of the weights does.
    let mut inputs = vec![[0.0; WIDTH]; rows * blocks];
    for (blocks, x) in inputs.chunks_exact_mut(blocks.max(1)).zip(x.chunks_exact(k.max(1))) {
        blocks.as_flattened_mut()[..k].copy_from_slice(x);
    }
    let whole = match w.kind {
        SmallKind::Bf16 => Vec::new(),
        SmallKind::Q8 => wholes::inputs::<8>(&inputs),
        SmallKind::Q4 => wholes::inputs::<4>(&inputs),
    };
    let all = n.next_multiple_of(LANES) * rows;
    if partial.len() < all {
        partial.resize(all, 0.0);
    }
    let sums = &mut partial[..all]; // [panels, rows, 16]
    let grain = (SHARE * rows).div_ceil((blocks * WIDTH).max(1));
    parallel::rows(sums, rows * LANES, grain, |panel, sums| {
        let block = panel * blocks;
        let words = &w.words[block * w.kind.bits()..];
        let sums = sums.as_chunks_mut().0;
        match w.kind {
            SmallKind::Bf16 => halves::sum(sums, &inputs, rows, words),
            SmallKind::Q8 => wholes::sum::<8>(sums, &whole, rows, words, &w.scales[block..]),
            SmallKind::Q4 => wholes::sum::<4>(sums, &whole, rows, words, &w.scales[block..]),
        }
    });
    for (panel, sums) in sums.chunks_exact(rows * LANES).enumerate() {
        for (row, sums) in sums.chunks_exact(LANES).enumerate() {
            let outputs = panel * LANES..n.min((panel + 1) * LANES);
            y[row * n..][outputs].iter_mut().zip(sums).for_each(|(y, sum)| *y += sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::matrix::Stored;
    use super::*;

    fn numbers(n: usize, salt: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * 31 + salt * 7) % 19) as f32 / 9.5 - 1.0).collect()
    }

    fn small(kind: SmallKind, k: usize, n: usize) -> SmallMatrix {
        SmallMatrix::new(kind, &numbers(k * n, 2), [k, n], Stored::ByInput).unwrap()
    }

    #[test]
    fn products_equal_their_naive_twins() {
        for kind in SmallKind::ALL {
            for k in [1, 7, 31, 32, 33, 64, 100, 768] {
                for n in [1, 3, 15, 16, 17, 65, 200] {
                    let (x, start, w) = (numbers(k, 1), numbers(n, 3), small(kind, k, n));
                    // Little more than half a step of 16 bits, of the largest of 32.
                    let of_input = |kind, i: usize| match kind {
                        SmallKind::Bf16 => 0.0,
                        _ => {
                            let block = x[i / WIDTH * WIDTH..].iter().take(WIDTH);
                            0.51 / 32767.0 * block.fold(0.0f32, |most, x| most.max(x.abs()))
                        }
                    };
                    let mut y = start.clone();
                    add_product(&mut y, &x, &w, 1, &mut Vec::new());
                    for j in 0..n {
                        let term = |i: usize| f64::from(x[i]) * f64::from(w.number(i, j));
                        let want = f64::from(start[j]) + (0..k).map(term).sum::<f64>();
                        // Each of at most K + 3 additions rounds by 2⁻²⁴ of what was added up.
                        let all = 1.0 + (0..k).map(|i| term(i).abs()).sum::<f64>();
                        let adding = all * (k + 3) as f64 / (1 << 24) as f64;
                        let rounding = (0..k).map(|i| of_input(kind, i) * w.number(i, j).abs());
                        let off = (f64::from(y[j]) - want).abs();
                        let most = adding + f64::from(rounding.sum::<f32>());
                        assert!(off < most, "{kind} {k} {n}: {off} {most}");
                    }
                }
            }
        }
    }

    /// Whoever else is multiplied.
    #[test]
    fn a_row_has_the_bits_that_it_has_alone() {
        for kind in SmallKind::ALL {
            for (k, n) in [(1, 1), (33, 17), (100, 65), (768, 48)] {
                let (x, start, w) = (numbers(8 * k, 1), numbers(8 * n, 3), small(kind, k, n));
                let mut alone = start.clone();
                for (y, x) in alone.chunks_exact_mut(n).zip(x.chunks_exact(k)) {
                    add_product(y, x, &w, 1, &mut vec![f32::NAN; 5]);
                }
                for rows in 2..=8 {
                    let mut y = start[..rows * n].to_vec();
                    add_product(&mut y, &x[..rows * k], &w, rows, &mut vec![f32::NAN; 5]);
                    assert!(y == alone[..rows * n], "{kind} {rows} {k} {n}");
                }
            }
        }
    }

    /// Whole numbers are added exactly, in any order: what was read is what was written. The input
    /// is one whose scale is 1.
    #[test]
    fn every_step_is_what_it_stands_for() {
        for kind in SmallKind::ALL {
            let most = if kind == SmallKind::Q4 { 8 } else { 127 };
            let (k, n) = (96, 40);
            let w: Vec<f32> =
                (0..k * n).map(|i| (i * 7 % (2 * most)) as f32 - most as f32).collect();
            let w = SmallMatrix::new(kind, &w, [k, n], Stored::ByInput).unwrap();
            for i in 0..k {
                let (mut x, mut y) = (vec![0.0; k], vec![0.0; n]);
                x[i] = 32767.0;
                add_product(&mut y, &x, &w, 1, &mut Vec::new());
                assert!((0..n).all(|j| y[j] == x[i] * w.number(i, j)), "{kind}");
            }
        }
    }

    #[test]
    fn bits_do_not_depend_on_the_threads() {
        for kind in SmallKind::ALL {
            let (k, n) = (769, 1501);
            let (x, w) = (numbers(3 * k, 1), small(kind, k, n));
            let run = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    let mut y = vec![0.5; 3 * n];
                    add_product(&mut y, &x, &w, 3, &mut Vec::new());
                    y
                })
            };
            let one = run(1);
            assert!([2, 3, 8].into_iter().all(|threads| run(threads) == one));
        }
    }
}
