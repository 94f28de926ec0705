//! Matrix products alone: those of a linear layer y = x·w, forward and back, as they lie in memory.

use super::measurement::{Bench, Measurement, median};
use crate::error::Result;
use llm_core::kernels::gemm::{Execution, Threads, gemm};
use llm_core::ndarray::Array2;

/// Tokens, numbers in, numbers out: both layers of W1's MLP, the first of W3's and of W4's.
const LAYERS: [[usize; 3]; 4] =
    [[768, 128, 512], [768, 512, 128], [2048, 384, 1536], [256, 768, 3072]];

pub(super) fn run(bench: &Bench<'_>) -> Result<Vec<Measurement>> {
    let mut measurements = Vec::new();
    let precision = bench.args.matmul.unwrap_or_default();
    for [rows, width, out] in LAYERS {
        let numbers =
            |m, n| Array2::from_shape_fn((m, n), |(i, j)| ((i * 37 + j) % 61) as f32 / 30.0 - 1.0);
        let (x, w, dy) = (numbers(rows, width), numbers(width, out), numbers(rows, out));
        let forward = ("NN", x.view(), w.view());
        for (layout, a, b) in [forward, ("NT", dy.view(), w.t()), ("TN", x.t(), dy.view())] {
            let (m, k, n) = (a.nrows(), a.ncols(), b.ncols());
            let mut c = Array2::zeros((m, n));
            let mut once = || {
                gemm(1.0, a, b, 0.0, c.view_mut(), Execution { precision, ..Threads::Pool.into() });
                Ok(())
            };
            once()?; // packing space is taken
            let seconds = median(bench.args.steps.unwrap_or(50), once)?;
            let name = format!("{layout}-{m}x{k}x{n}");
            measurements.push(bench.measured(name, seconds, rows, (2 * m * k * n) as f64));
        }
    }
    Ok(measurements)
}
