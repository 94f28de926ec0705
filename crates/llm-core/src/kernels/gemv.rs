//! A row times a matrix: what one new token asks of every layer.
//!
//! Each weight is used once, so the speed is that of memory, and memory is fastest when each thread
//! reads one long stream: a matrix is cut into groups of whole rows, one after the other as they
//! lie, and what the groups give is added up afterwards, in their order. The cut depends on the
//! shape alone.

use super::elementwise::add_assign;
use super::math::{LANES, row_dot};
use super::parallel;
use super::simd::{fma, prefetch, simd_kernel};
use rayon::prelude::*;

/// Weights that are worth a thread of their own: below, waking it costs more than reading them.
const SHARE: usize = 1 << 17;
/// Most groups of rows.
pub const MOST_GROUPS: usize = 4;
/// Outputs that stay in the first cache while rows are read.
const PANEL: usize = 1 << 12;
/// Weights between the one that is used and the one that is asked for: a page of memory.
const AHEAD: usize = 1 << 10;

/// y ← y + x·W.
///
/// # Shapes
/// `x [K]`, `w [K, N]` row-major, `y [N]`; `partial`, room for the groups' sums, of any length:
/// [`MOST_GROUPS`]` − 1` times N lets the most threads help.
pub fn add_product(y: &mut [f32], x: &[f32], w: &[f32], partial: &mut [f32]) {
    let (k, n) = (x.len(), y.len());
    let groups = (k * n / SHARE).clamp(1, MOST_GROUPS).min(1 + partial.len() / n.max(1));
    let rows = k.div_ceil(groups).max(1);
    if rows >= k {
        return add_rows(y, x, w);
    }
    let partial = &mut partial[..(k.div_ceil(rows) - 1) * n];
    let sums = std::iter::once(&mut *y).chain(partial.chunks_exact_mut(n));
    let mut groups: Vec<_> = sums.zip(x.chunks(rows)).zip(w.chunks(rows * n)).collect();
    // Neighbouring groups are one stream for the thread that reads them.
    let together = groups.len().div_ceil(rayon::current_num_threads());
    groups.par_iter_mut().enumerate().with_min_len(together).for_each(|(i, ((sum, x), w))| {
        if i > 0 {
            sum.fill(0.0);
        }
        add_rows(sum, x, w);
    });
    drop(groups);
    partial.chunks_exact(n).for_each(|sum| add_assign(y, sum));
}

simd_kernel! {
    /// Each output adds its terms in the order of the rows.
    fn add_rows(y: &mut [f32], x: &[f32], w: &[f32]) {
        let n = y.len();
        for (p, y) in y.chunks_mut(PANEL).enumerate() {
            for (x, row) in x.iter().zip(w.chunks_exact(n)) {
                let row = &row[p * PANEL..][..y.len()];
                let (lines, rest) = row.as_chunks::<LANES>();
                let (sums, last) = y.as_chunks_mut::<LANES>();
                for (y, w) in sums.iter_mut().zip(lines) {
                    prefetch(w, AHEAD);
                    for l in 0..LANES {
                        y[l] = fma::<FMA>(*x, w[l], y[l]);
                    }
                }
                for (y, w) in last.iter_mut().zip(rest) {
                    *y = fma::<FMA>(*x, *w, *y);
                }
            }
        }
    }
}

/// y ← y + W·x: the same with a matrix that is stored the other way round.
///
/// # Shapes
/// `x [K]`, `w [N, K]` row-major, `y [N]`.
pub fn add_dots(y: &mut [f32], x: &[f32], w: &[f32]) {
    let k = x.len();
    parallel::chunks(y, SHARE.div_ceil(k.max(1)), |first, y| {
        add_dots_of_rows(y, x, &w[first * k..(first + y.len()) * k]);
    });
}

simd_kernel! {
    fn add_dots_of_rows(y: &mut [f32], x: &[f32], w: &[f32]) {
        for (y, row) in y.iter_mut().zip(w.chunks_exact(x.len())) {
            row.chunks(LANES).for_each(|line| prefetch(line, AHEAD));
            *y += row_dot::<FMA>(x, row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize, salt: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * 31 + salt * 7) % 19) as f32 / 9.5 - 1.0).collect()
    }

    #[test]
    fn products_equal_their_naive_twins() {
        for k in [1, 2, 7, 8, 9, 16, 33, 768] {
            for n in [1, 3, 63, 64, 65, 127, 200, 1500] {
                let (x, w, start) = (numbers(k, 1), numbers(k * n, 2), numbers(n, 3));
                // The sum, and how much is added up in it.
                let want = |j: usize, at: &dyn Fn(usize, usize) -> usize| -> (f64, f64) {
                    let term = |i| f64::from(x[i]) * f64::from(w[at(i, j)]);
                    let all = (0..k).map(|i| f64::abs(term(i))).sum::<f64>();
                    (f64::from(start[j]) + (0..k).map(term).sum::<f64>(), all + 1.0)
                };
                let (mut y, mut z) = (start.clone(), start.clone());
                add_product(&mut y, &x, &w, &mut vec![f32::NAN; MOST_GROUPS * n]);
                add_dots(&mut z, &x, &w);
                for j in 0..n {
                    let near = |got: f32, (sum, all): (f64, f64)| {
                        assert!((f64::from(got) - sum).abs() < 1e-5 * all, "K {k} N {n} at {j}");
                    };
                    near(y[j], want(j, &|i, j| i * n + j));
                    near(z[j], want(j, &|i, j| j * k + i));
                }
            }
        }
    }

    #[test]
    fn groups_of_rows_make_the_whole_sum() {
        let (k, n) = (1001, 1501);
        let (x, w) = (numbers(k, 1), numbers(k * n, 2));
        let run = |room: usize| {
            let mut y = vec![0.25; n];
            add_product(&mut y, &x, &w, &mut vec![f32::NAN; room]);
            y
        };
        let whole = run(0);
        for room in [n - 1, n, 3 * n, 100 * n] {
            assert!(run(room).iter().zip(&whole).all(|(a, b)| (a - b).abs() < 1e-3));
        }
    }

    #[test]
    fn bits_do_not_depend_on_the_threads() {
        let (k, n) = (769, 1501);
        let (x, w) = (numbers(k, 1), numbers(k * n, 2));
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let (mut y, mut z) = (vec![0.5; n], vec![0.5; n]);
                add_product(&mut y, &x, &w, &mut vec![f32::NAN; MOST_GROUPS * n]);
                add_dots(&mut z, &x, &w);
                (y, z)
            })
        };
        let one = run(1);
        for threads in [2, 3, 8] {
            assert!(run(threads) == one);
        }
    }
}
