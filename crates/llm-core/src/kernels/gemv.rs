//! A few rows times a matrix: what the next token of each text asks of every layer.
//!
//! Each weight is read once, so the speed is that of memory, and memory is fastest when each thread
//! reads one long stream: a matrix is cut into groups of whole rows, one after the other as they
//! lie, and what the groups give is added up afterwards, in their order. The cut depends on the
//! shape of the matrix alone, and each row is summed as if it were the only one: its bits do not depend on the
//! others.

use super::elementwise::add_assign;
use super::math::{LANES, row_dot};
use super::parallel;
use super::simd::{fma, prefetch, simd_kernel};
use rayon::prelude::*;

/// Weights that are worth a thread of their own: below, waking it costs more than reading them.
const SHARE: usize = 1 << 17;
/// Most groups of rows of a matrix.
pub const MOST_GROUPS: usize = 4;
/// Outputs that stay in the first cache while rows are read.
const PANEL: usize = 1 << 12;
/// Weights between the one that is used and the one that is asked for: a page of memory.
const AHEAD: usize = 1 << 10;

/// Y ← Y + X·W for `rows` rows.
///
/// # Shapes
/// `x [rows, K]`, `w [K, N]` row-major, `y [rows, N]`; `partial` is room for the groups' sums, and grows when it
/// is too small.
pub fn add_product(y: &mut [f32], x: &[f32], w: &[f32], rows: usize, partial: &mut Vec<f32>) {
    let (k, n, all) = (x.len() / rows, y.len() / rows, y.len());
    let groups = (k * n / SHARE).clamp(1, MOST_GROUPS);
    let depth = k.div_ceil(groups).max(1);
    if depth >= k {
        return add_rows(y, x, k, w);
    }
    let needed = (k.div_ceil(depth) - 1) * all;
    if partial.len() < needed {
        partial.resize(needed, 0.0);
    }
    let partial = &mut partial[..needed];
    let sums = std::iter::once(&mut *y).chain(partial.chunks_exact_mut(all));
    let mut groups: Vec<_> = sums.zip(w.chunks(depth * n)).collect();
    // Neighbouring groups are one stream for the thread that reads them.
    let together = groups.len().div_ceil(rayon::current_num_threads());
    groups.par_iter_mut().enumerate().with_min_len(together).for_each(|(i, (sum, w))| {
        if i > 0 {
            sum.fill(0.0);
        }
        add_rows(sum, &x[i * depth..], k, w);
    });
    drop(groups);
    partial.chunks_exact(all).for_each(|sum| add_assign(y, sum));
}

/// Rows of W that pass together.
const TOGETHER: usize = 4;
/// Outputs that pass together.
const WIDE: usize = 2 * LANES;

simd_kernel! {
    /// Each output adds its terms in the order of the rows of W, which meet the first inputs of each row of
    /// `x [.., k]`.
    fn add_rows(y: &mut [f32], x: &[f32], k: usize, w: &[f32]) {
        let rows = x.len().div_ceil(k);
        let n = y.len() / rows;
        for panel in (0..n).step_by(PANEL) {
            let end = n.min(panel + PANEL);
            for (i, w) in w.chunks(TOGETHER * n).enumerate() {
                let x = &x[i * TOGETHER..];
                let mut whole = panel;
                if w.len() == TOGETHER * n {
                    let lines = |t: usize| w[t * n..][panel..end].as_chunks::<WIDE>().0;
                    let (w0, w1, w2, w3) = (lines(0), lines(1), lines(2), lines(3));
                    for (((w0, w1), w2), w3) in w0.iter().zip(w1).zip(w2).zip(w3) {
                        for first in (0..WIDE).step_by(LANES) {
                            prefetch(&w0[first..], AHEAD);
                            prefetch(&w1[first..], AHEAD);
                            prefetch(&w2[first..], AHEAD);
                            prefetch(&w3[first..], AHEAD);
                        }
                        // Copied, so that they stay in registers while the rows pass.
                        let (w0, w1, w2, w3) = (*w0, *w1, *w2, *w3);
                        for row in 0..rows {
                            let x = &x[row * k..][..TOGETHER];
                            let y = &mut y[row * n + whole..][..WIDE];
                            for l in 0..WIDE {
                                let sum = fma::<FMA>(x[0], w0[l], y[l]);
                                let sum = fma::<FMA>(x[1], w1[l], sum);
                                let sum = fma::<FMA>(x[2], w2[l], sum);
                                y[l] = fma::<FMA>(x[3], w3[l], sum);
                            }
                        }
                        whole += WIDE;
                    }
                }
                for row in 0..rows {
                    let y = &mut y[row * n + whole..row * n + end];
                    for (x, w) in x[row * k..].iter().zip(w.chunks_exact(n)) {
                        y.iter_mut().zip(&w[whole..end]).for_each(|(y, w)| *y = fma::<FMA>(*x, *w, *y));
                    }
                }
            }
        }
    }
}

/// Y ← Y + X·Wᵀ: the same with a matrix that is stored the other way round.
///
/// # Shapes
/// `x [rows, K]`, `w [N, K]` row-major, `y [rows, N]`.
pub fn add_dots(y: &mut [f32], x: &[f32], w: &[f32], rows: usize, partial: &mut Vec<f32>) {
    let (k, n) = (x.len() / rows, y.len() / rows);
    if partial.len() < y.len() {
        partial.resize(y.len(), 0.0);
    }
    let sums = &mut partial[..y.len()]; // [N, rows]
    parallel::rows(sums, rows, (SHARE * rows).div_ceil(k.max(1)), |first, sums| {
        dots_of_rows(sums, x, &w[first * k..(first + sums.len() / rows) * k], k);
    });
    for (j, sums) in sums.chunks_exact(rows).enumerate() {
        sums.iter().enumerate().for_each(|(row, sum)| y[row * n + j] += sum);
    }
}

simd_kernel! {
    fn dots_of_rows(sums: &mut [f32], x: &[f32], w: &[f32], k: usize) {
        for (sums, row) in sums.chunks_exact_mut(x.len() / k).zip(w.chunks_exact(k)) {
            for line in row.chunks(LANES) {
                prefetch(line, AHEAD);
            }
            for (sum, x) in sums.iter_mut().zip(x.chunks_exact(k)) {
                *sum = row_dot::<FMA>(x, row);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize, salt: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * 31 + salt * 7) % 19) as f32 / 9.5 - 1.0).collect()
    }

    /// Several rows: each as the naive twin has it, and in the bits that it has alone.
    #[test]
    fn products_equal_their_naive_twins() {
        for k in [1, 2, 7, 8, 9, 16, 33, 768] {
            for n in [1, 3, 63, 64, 65, 127, 200, 1500] {
                let (all, w, starts) = (numbers(8 * k, 1), numbers(k * n, 2), numbers(8 * n, 3));
                let run = |rows: std::ops::Range<usize>| {
                    let x = &all[rows.start * k..rows.end * k];
                    let start = &starts[rows.start * n..rows.end * n];
                    let (mut y, mut z) = (start.to_vec(), start.to_vec());
                    add_product(&mut y, x, &w, rows.len(), &mut vec![f32::NAN; n]);
                    add_dots(&mut z, x, &w, rows.len(), &mut vec![f32::NAN; n]);
                    [y, z]
                };
                let (x, start, [y, z]) = (&all[..k], &starts[..n], run(0..1));
                // The sum, and how much is added up in it.
                let want = |j: usize, at: &dyn Fn(usize, usize) -> usize| -> (f64, f64) {
                    let term = |i| f64::from(x[i]) * f64::from(w[at(i, j)]);
                    let all = (0..k).map(|i| f64::abs(term(i))).sum::<f64>();
                    (f64::from(start[j]) + (0..k).map(term).sum::<f64>(), all + 1.0)
                };
                for j in 0..n {
                    let near = |got: f32, (sum, all): (f64, f64)| {
                        assert!((f64::from(got) - sum).abs() < 1e-5 * all, "K {k} N {n} at {j}");
                    };
                    near(y[j], want(j, &|i, j| i * n + j));
                    near(z[j], want(j, &|i, j| j * k + i));
                }
                let alone: Vec<[Vec<f32>; 2]> = (0..8).map(|row| run(row..row + 1)).collect();
                for rows in 2..=8 {
                    let together = run(8 - rows..8);
                    for (which, y) in together.iter().enumerate() {
                        let alone: Vec<f32> =
                            alone[8 - rows..].iter().flat_map(|of| of[which].clone()).collect();
                        assert!(*y == alone, "{rows} rows, K {k} N {n}");
                    }
                }
            }
        }
    }

    #[test]
    fn bits_do_not_depend_on_the_threads() {
        let (k, n) = (769, 1501);
        let (x, w) = (numbers(3 * k, 1), numbers(k * n, 2));
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let (mut y, mut z) = (vec![0.5; 3 * n], vec![0.5; 3 * n]);
                add_product(&mut y, &x, &w, 3, &mut Vec::new());
                add_dots(&mut z, &x, &w, 3, &mut Vec::new());
                (y, z)
            })
        };
        let one = run(1);
        for threads in [2, 3, 8] {
            assert!(run(threads) == one);
        }
    }
}
