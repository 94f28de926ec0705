//! Two axes of an array exchanged.

use super::parallel::{self, LIGHT};

/// Rows that are written together: they read neighbours of the same cache lines.
const BLOCK: usize = 16;

/// `y[o, j, m, i, :]` ← `x[o, i, m, j, :]`, where `x [.., a, mid, b, inner]`.
pub fn swap_axes(y: &mut [f32], x: &[f32], [a, mid, b, inner]: [usize; 4]) {
    if y.is_empty() {
        return;
    }
    let width = a * inner; // a row of y: o, j, m fixed
    let step = mid * b * inner; // in x, from i to i + 1
    let start = |row: usize| {
        let (o, j, m) = (row / (b * mid), row / mid % b, row % mid);
        ((o * a * mid + m) * b + j) * inner
    };
    parallel::rows(y, width, LIGHT, |first, y| {
        for (block, rows) in y.chunks_mut(BLOCK * width).enumerate() {
            let mut starts = [0; BLOCK];
            starts.iter_mut().enumerate().for_each(|(r, s)| *s = start(first + block * BLOCK + r));
            for i in 0..a {
                for (row, start) in rows.chunks_exact_mut(width).zip(starts) {
                    let from = &x[start + i * step..][..inner];
                    row[i * inner..][..inner].copy_from_slice(from);
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_its_naive_twin() {
        let sizes = [
            [1, 1, 1, 1, 1],
            [1, 3, 1, 4, 1],
            [1, 17, 1, 33, 1],
            [2, 3, 4, 5, 1],
            [2, 3, 1, 5, 7],
            [3, 5, 2, 3, 4],
            [1, 600, 1, 500, 1], // cut for threads
            [2, 0, 3, 4, 5],
        ];
        for [outer, a, mid, b, inner] in sizes {
            let n = outer * a * mid * b * inner;
            let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
            let mut y = vec![f32::NAN; n];
            swap_axes(&mut y, &x, [a, mid, b, inner]);
            for (place, &x) in x.iter().enumerate() {
                let (at, c) = (place / inner, place % inner);
                let (at, j) = (at / b, at % b);
                let (at, m) = (at / mid, at % mid);
                let (o, i) = (at / a, at % a);
                assert_eq!(y[(((o * b + j) * mid + m) * a + i) * inner + c], x);
            }
        }
    }
}
