//! The heads' outputs side by side, A `[T, H·D]`, and what the output projection makes of them,
//! A·W_o `[T, C]`.

use llm_core::{Result, Tensor, ops};
use serde::Serialize;

/// How numbers are spread.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub std: f64,
    /// Least.
    pub min: f64,
    /// Greatest.
    pub max: f64,
}

/// Spreads of one block.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Spreads {
    /// Spread of A, `[T, H·D]` for each window: head h has the columns h·D..(h+1)·D.
    pub concatenated: Spread,
    /// Spread of A·W_o, `[T, C]`, before the bias: every column has something of every head.
    pub projected: Spread,
}

/// Sums from which a [`Spread`] follows.
#[derive(Clone, Copy)]
pub(crate) struct Sums {
    n: f64,
    sum: f64,
    squares: f64,
    min: f64,
    max: f64,
}

impl Default for Sums {
    fn default() -> Sums {
        Sums { n: 0.0, sum: 0.0, squares: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY }
    }
}

impl Sums {
    pub(crate) fn add(&mut self, numbers: &[f32]) {
        for x in numbers.iter().map(|&x| f64::from(x)) {
            self.n += 1.0;
            self.sum += x;
            self.squares += x * x;
            (self.min, self.max) = (self.min.min(x), self.max.max(x));
        }
    }

    pub(crate) fn spread(&self) -> Spread {
        if self.n == 0.0 {
            return Spread { mean: 0.0, std: 0.0, min: 0.0, max: 0.0 };
        }
        let mean = self.sum / self.n;
        let std = (self.squares / self.n - mean * mean).max(0.0).sqrt();
        Spread { mean, std, min: self.min, max: self.max }
    }
}

/// A·W_o of `a [T, H·D]`.
pub(crate) fn projected(a: Tensor, w_proj: &Tensor) -> Result<Tensor> {
    ops::linear_lastdim(&a, &w_proj.detach(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_are_known() {
        let mut sums = Sums::default();
        assert_eq!(sums.spread().max, 0.0);
        sums.add(&[1.0, -1.0]);
        sums.add(&[3.0, 5.0]);
        let Spread { mean, std, min, max } = sums.spread();
        assert_eq!((mean, std, min, max), (2.0, 5f64.sqrt(), -1.0, 5.0));
    }
}
