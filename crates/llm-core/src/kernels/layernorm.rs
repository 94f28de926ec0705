//! Layer normalisation over the last dimension, without and with gain and bias.
//!
//! μ = mean(x),  σ² = mean((x − μ)²),  x̂ = (x − μ) / √(σ² + ε),  y = x̂  or  y = g ∘ x̂ + b
//!
//! Reference: Ba, Kiros, Hinton, "Layer Normalization".

use super::math::{row_dot, row_sum};
use super::parallel::{self, HEAVY, LIGHT};
use super::simd::{fma, simd_kernel};

/// The gain of each channel; `None`: 1.
pub type Gain<'a> = Option<&'a [f32]>;

/// Gain and bias `[width]`, where the norm has them.
pub type Affine<'a> = Option<(&'a [f32], &'a [f32])>;

/// What [`forward`] leaves for [`backward`], two numbers a row: μ and 1/√(σ² + ε).
pub const STATS: usize = 2;

/// y ← x̂ (or g ∘ x̂ + b) for every row; `stats [rows, 2]` ← μ and 1/√(σ² + ε).
pub fn forward(
    y: &mut [f32],
    stats: &mut [f32],
    x: &[f32],
    affine: Affine<'_>,
    width: usize,
    eps: f32,
) {
    parallel::rows_with(y, width, stats, STATS, HEAVY, |first, y, stats| {
        forward_rows(y, stats, &x[first * width..first * width + y.len()], affine, width, eps);
    });
}

simd_kernel! {
    fn forward_rows(y: &mut [f32], stats: &mut [f32], x: &[f32], affine: Affine<'_>, width: usize, eps: f32) {
        let n = width as f32;
        let rows = y.chunks_exact_mut(width).zip(stats.chunks_exact_mut(STATS));
        for ((y, stats), x) in rows.zip(x.chunks_exact(width)) {
            let mean = row_sum(x) / n;
            for (y, x) in y.iter_mut().zip(x) {
                *y = x - mean;
            }
            let rstd = 1.0 / (row_dot::<FMA>(y, y) / n + eps).sqrt();
            stats.copy_from_slice(&[mean, rstd]);
            match affine {
                None => y.iter_mut().for_each(|y| *y *= rstd),
                Some((g, b)) => {
                    for ((y, g), b) in y.iter_mut().zip(g).zip(b) {
                        *y = fma::<FMA>(*y * rstd, *g, *b);
                    }
                }
            }
        }
    }
}

/// dx ← 1/√(σ²+ε) · (d − mean(d) − x̂·mean(d ∘ x̂)) for every row, where d = dy (∘ g).
pub fn backward(dx: &mut [f32], dy: &[f32], x: &[f32], stats: &[f32], g: Gain<'_>, width: usize) {
    parallel::rows(dx, width, HEAVY, |first, dx| {
        let rows = dx.len() / width;
        let range = first * width..first * width + dx.len();
        let stats = &stats[first * STATS..(first + rows) * STATS];
        backward_rows(dx, &dy[range.clone()], &x[range], stats, g, width);
    });
}

simd_kernel! {
    fn backward_rows(dx: &mut [f32], dy: &[f32], x: &[f32], stats: &[f32], gain: Option<&[f32]>, width: usize) {
        let n = width as f32;
        let rows = dx.chunks_exact_mut(width).zip(dy.chunks_exact(width));
        let rows = rows.zip(x.chunks_exact(width)).zip(stats.chunks_exact(STATS));
        for (((dx, dy), x), stats) in rows {
            let (mean, rstd) = (stats[0], stats[1]);
            match gain {
                None => dx.copy_from_slice(dy),
                Some(g) => dx.iter_mut().zip(dy).zip(g).for_each(|((d, dy), g)| *d = dy * g),
            }
            let mean_d = row_sum(dx) / n;
            // mean(d ∘ x̂) = 1/σ · (mean(d ∘ x) − μ·mean(d)) loses digits when |μ| ≫ σ, so the
            // centred x is formed in the loop.
            let mut dot = 0.0;
            let (dc, dr) = dx.as_chunks::<16>();
            let (xc, xr) = x.as_chunks::<16>();
            let mut acc = [0.0f32; 16];
            for (d, x) in dc.iter().zip(xc) {
                for l in 0..16 {
                    acc[l] = fma::<FMA>(d[l], x[l] - mean, acc[l]);
                }
            }
            for a in acc {
                dot += a;
            }
            for (d, x) in dr.iter().zip(xr) {
                dot += d * (x - mean);
            }
            let slope = dot / n * rstd * rstd;
            for (d, x) in dx.iter_mut().zip(x) {
                *d = rstd * (*d - mean_d - (x - mean) * slope);
            }
        }
    }
}

/// `dg` += Σ_rows dy ∘ x̂ and `db` += Σ_rows dy, the rows in order.
pub fn backward_affine(
    dg: &mut [f32],
    db: &mut [f32],
    dy: &[f32],
    x: &[f32],
    stats: &[f32],
    width: usize,
) {
    let grain = LIGHT.div_ceil(stats.len().max(1)).max(64);
    parallel::rows_with(dg, 1, db, 1, grain, |first, dg, db| {
        affine_columns(dg, db, dy, x, stats, width, first);
    });
}

simd_kernel! {
    /// The columns `first..first + dg.len()`.
    fn affine_columns(dg: &mut [f32], db: &mut [f32], dy: &[f32], x: &[f32], stats: &[f32], width: usize, first: usize) {
        let rows = dy.chunks_exact(width).zip(x.chunks_exact(width));
        for ((dy, x), stats) in rows.zip(stats.chunks_exact(STATS)) {
            let (mean, rstd) = (stats[0], stats[1]);
            let columns = dg.iter_mut().zip(db.iter_mut()).zip(&dy[first..]).zip(&x[first..]);
            for (((dg, db), dy), x) in columns {
                *dg = fma::<FMA>(dy * (x - mean), rstd, *dg);
                *db += dy;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive(x: &[f32], eps: f64) -> Vec<f64> {
        let n = x.len() as f64;
        let mean = x.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
        let var = x.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / n;
        x.iter().map(|&v| (f64::from(v) - mean) / (var + eps).sqrt()).collect()
    }

    #[test]
    fn rows_equal_their_naive_twin() {
        for width in 1..70 {
            // A large common offset: the variance must not be E[x²] − μ².
            let x: Vec<f32> = (0..3 * width).map(|i| 100.0 + ((i * 37) % 23) as f32).collect();
            let g: Vec<f32> = (0..width).map(|i| 0.5 + i as f32 * 0.1).collect();
            let b: Vec<f32> = (0..width).map(|i| i as f32 * 0.2 - 1.0).collect();
            for affine in [None, Some((&g[..], &b[..]))] {
                let mut y = vec![f32::NAN; x.len()];
                let mut stats = vec![f32::NAN; 3 * STATS];
                forward(&mut y, &mut stats, &x, affine, width, 1e-5);
                for (x, y) in x.chunks(width).zip(y.chunks(width)) {
                    for (i, want) in naive(x, 1e-5).into_iter().enumerate() {
                        let (g, b) = affine.map_or((1.0, 0.0), |(g, b)| (g[i], b[i]));
                        let want = want * f64::from(g) + f64::from(b);
                        assert!((f64::from(y[i]) - want).abs() < 1e-4 * want.abs().max(1.0));
                    }
                }
            }
        }
    }
}
