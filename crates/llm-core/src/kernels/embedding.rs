//! Rows looked up by number, and the gradient that goes back into them.

use super::parallel::{self, LIGHT};
use crate::base::TokenId;
use std::borrow::Cow;

/// `y[n, :]` ← `w[ids[n], :]` for a w of which `row` gives the rows, of this width.
pub fn forward<'w>(
    y: &mut [f32],
    row: impl Fn(usize) -> Cow<'w, [f32]> + Sync,
    ids: &[TokenId],
    width: usize,
) {
    parallel::rows(y, width, LIGHT, |first, y| {
        for (y, &id) in y.chunks_exact_mut(width).zip(&ids[first..]) {
            y.copy_from_slice(&row(id as usize));
        }
    });
}

/// `dw[ids[n], :]` += `dy[n, :]`, in the order of n.
///
/// Several tokens may share a row, so the work is cut by rows of `dw`: each task scans all ids and
/// adds those in its range. No two tasks write the same row, and the order of each sum is fixed.
pub fn backward(dw: &mut [f32], dy: &[f32], ids: &[TokenId], width: usize) {
    let grain = if dy.len() < 2 * LIGHT { usize::MAX / 4 } else { dw.len().div_ceil(2).max(1) };
    parallel::rows(dw, width, grain, |first, rows| {
        let n = rows.len() / width;
        for (dy, &id) in dy.chunks_exact(width).zip(ids) {
            let id = id as usize;
            if (first..first + n).contains(&id) {
                let row = &mut rows[(id - first) * width..][..width];
                row.iter_mut().zip(dy).for_each(|(w, d)| *w += d);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_ids_add_up() {
        for (rows, width, n) in [(3, 2, 7), (50, 33, 9000)] {
            let ids: Vec<TokenId> = (0..n).map(|i| ((i * 7) % rows) as TokenId).collect();
            let w: Vec<f32> = (0..rows * width).map(|i| i as f32).collect();
            let mut y = vec![f32::NAN; n * width];
            forward(&mut y, |i| w[i * width..][..width].into(), &ids, width);
            let mut dw = vec![1.0; w.len()];
            backward(&mut dw, &y, &ids, width);
            for r in 0..rows {
                let times = ids.iter().filter(|&&id| id as usize == r).count() as f32;
                for c in 0..width {
                    assert_eq!(dw[r * width + c], 1.0 + times * w[r * width + c]);
                }
            }
        }
    }
}
