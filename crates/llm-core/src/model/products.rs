//! Products of rows of a text with the model's matrices, in f32 or with small weights.

use crate::kernels::small::{SmallMatrix, add_product as add_small};
use crate::kernels::{gemv, rows};
use crate::tensor::Tensor;
use std::collections::HashMap;

/// Small copies of the matrices that a token is multiplied with, found by where the f32 ones lie: so
/// code that multiplies by a matrix need not know that it has one.
#[derive(Debug, Default)]
pub(crate) struct SmallWeights(HashMap<usize, SmallMatrix>);

impl SmallWeights {
    /// `w`, which stays where it is, has this copy.
    pub fn insert(&mut self, w: &Tensor, small: SmallMatrix) {
        self.0.insert(w.data().as_ptr().addr(), small);
    }

    fn get(&self, w: &Tensor) -> Option<&SmallMatrix> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get(&w.data().as_ptr().addr())
    }
}

/// What a product needs besides its rows and its matrix.
#[derive(Debug, Default)]
pub(crate) struct Products {
    /// Small copies of the matrices; none, unless the text is written with them.
    pub small: SmallWeights,
    /// Whether each row is the next position of another text.
    pub apart: bool,
    /// Room for sums that are added up afterwards.
    partial: Vec<f32>,
}

impl Products {
    /// y ← y + X·W for `n` rows: `x [n, K]`, `w [K, M]`, `y [n, M]`. A text's next position is multiplied with
    /// the small weights if there are any, and has the same bits beside those of other texts as alone. Several
    /// positions of one text share what is read, so that f32 costs them little.
    /// An adapter of W is added in f32.
    pub fn add_linear(&mut self, y: &mut [f32], x: &[f32], w: &Tensor, n: usize) {
        let Products { small, apart, partial } = self;
        let shape = [x.len() / n, y.len() / n];
        match small.get(w) {
            _ if n > 1 && !*apart => rows::add_linear(y, x, w.factor(shape), n),
            None if w.halves().is_some() => rows::add_linear(y, x, w.factor(shape), n),
            Some(w) => add_small(y, x, w, n, partial),
            None => gemv::add_product(y, x, w.data(), n, partial),
        }
        if let Some(pair) = w.adapter() {
            pair.add_rows(y, x, n, &mut self.partial);
        }
    }

    /// y ← y + X·Wᵀ for the next positions of `n` texts and a table `w [M, K]`.
    pub fn add_dots(&mut self, y: &mut [f32], x: &[f32], w: &Tensor, n: usize) {
        let shape = [y.len() / n, x.len() / n];
        match self.small.get(w) {
            Some(w) => add_small(y, x, w, n, &mut self.partial),
            None if w.halves().is_some() => rows::add_linear(y, x, w.factor(shape).t(), n),
            None => gemv::add_dots(y, x, w.data(), n, &mut self.partial),
        }
    }
}
