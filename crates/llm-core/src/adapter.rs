//! A pair of thin matrices beside a matrix W, of which W itself need not know: what an adapter is.
//!
//! ```text
//! W′ = W + ΔW,   ΔW[:, part i] = sᵢ·Aᵢ·Bᵢ
//! ```
//!
//! W stays as it is; A and B have few numbers and learn. Queries, keys and values may lie side by
//! side in W: each is a part with an A and a B of its own. [`ops::linear_lastdim`](crate::ops::linear_lastdim) and the products
//! of a growing text read the pair, so an attention need not know of it either.
//!
//! Reference: Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models".

use crate::kernels::{gemv, parallel};
pub use crate::tensor::{Pair, Part};
use std::ops::Range;

/// Where a part lies in A and in B.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub ranks: Range<usize>,
    pub columns: Range<usize>,
    pub scale: f32,
}

impl Pair {
    /// The places of the parts to which something is added.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> + '_ {
        let (mut rank, mut column) = (0, 0);
        let places = self.parts.iter().map(move |part| {
            let (ranks, columns) = (rank..rank + part.rank, column..column + part.columns);
            (rank, column) = (ranks.end, columns.end);
            Place { ranks, columns, scale: part.scale }
        });
        places.filter(|place| !place.ranks.is_empty())
    }

    /// The pair without its history.
    pub(crate) fn detach(&self) -> Pair {
        Pair { a: self.a.detach(), b: self.b.detach(), parts: self.parts.clone() }
    }

    /// Y ← Y + X·ΔW for `n` rows: `x [n, K]`, `y [n, M]`; `partial` as in [`gemv::add_product`].
    pub(crate) fn add_rows(&self, y: &mut [f32], x: &[f32], n: usize, partial: &mut Vec<f32>) {
        let (all, m) = (self.a.shape()[1], self.b.shape()[1]);
        let mut u = vec![0.0; n * all];
        gemv::add_product(&mut u, x, self.a.data(), n, partial);
        for (y, u) in y.chunks_exact_mut(m).zip(u.chunks_exact(all)) {
            for Place { ranks, columns, scale } in self.places() {
                for (u, b) in u[ranks].iter().zip(self.b.data().chunks_exact(m)) {
                    let y = y[columns.clone()].iter_mut().zip(&b[columns.clone()]);
                    y.for_each(|(y, b)| *y += scale * u * b);
                }
            }
        }
    }

    /// Row k of ΔW, added to `sum [M]`.
    fn add_row(&self, k: usize, sum: &mut [f64]) {
        let (all, m) = (self.a.shape()[1], self.b.shape()[1]);
        let a = &self.a.data()[k * all..][..all];
        for Place { ranks, columns, scale } in self.places() {
            for (a, b) in a[ranks].iter().zip(self.b.data().chunks_exact(m)) {
                let by = f64::from(scale) * f64::from(*a);
                let sum = sum[columns.clone()].iter_mut().zip(&b[columns.clone()]);
                sum.for_each(|(sum, b)| *sum += by * f64::from(*b));
            }
        }
    }

    /// W ← W + ΔW, added up in f64 and rounded once.
    pub(crate) fn merge_into(&self, w: &mut [f32]) {
        let m = self.b.shape()[1];
        parallel::rows(w, m, parallel::HEAVY, |first, group| {
            let mut sum = vec![0.0; m];
            for (k, w) in group.chunks_exact_mut(m).enumerate() {
                sum.iter_mut().zip(&*w).for_each(|(sum, w)| *sum = f64::from(*w));
                self.add_row(first + k, &mut sum);
                w.iter_mut().zip(&sum).for_each(|(w, sum)| *w = *sum as f32);
            }
        });
    }

    /// ‖ΔW‖, the root of the sum of its squares.
    pub fn norm(&self) -> f64 {
        let mut sum = vec![0.0; self.b.shape()[1]];
        let squares = (0..self.a.shape()[0]).map(|k| {
            sum.fill(0.0);
            self.add_row(k, &mut sum);
            sum.iter().map(|x| x * x).sum::<f64>()
        });
        squares.sum::<f64>().sqrt()
    }
}
