//! Root-mean-square normalisation over the last dimension, without and with gain.
//!
//! r = 1/√(mean(x²) + ε),  x̂ = r·x,  y = x̂  or  y = g ∘ x̂
//!
//! Layer normalisation without its mean and its bias: a row keeps its direction, and gets the
//! length √width.
//!
//! Reference: Zhang, Sennrich, "Root Mean Square Layer Normalization".

use super::layernorm::Gain;
use super::math::row_dot;
use super::parallel::{self, HEAVY, LIGHT};
use super::simd::{fma, simd_kernel};

/// What [`forward`] leaves for [`backward`], a number a row: r.
pub const STATS: usize = 1;

/// y ← x̂ (or g ∘ x̂) for every row; `stats [rows]` ← r.
pub fn forward(y: &mut [f32], stats: &mut [f32], x: &[f32], g: Gain<'_>, width: usize, eps: f32) {
    parallel::rows_with(y, width, stats, STATS, HEAVY, |first, y, stats| {
        forward_rows(y, stats, &x[first * width..first * width + y.len()], g, width, eps);
    });
}

simd_kernel! {
    fn forward_rows(y: &mut [f32], stats: &mut [f32], x: &[f32], gain: Option<&[f32]>, width: usize, eps: f32) {
        let n = width as f32;
        for ((y, stat), x) in y.chunks_exact_mut(width).zip(stats).zip(x.chunks_exact(width)) {
            let r = 1.0 / (row_dot::<FMA>(x, x) / n + eps).sqrt();
            *stat = r;
            match gain {
                None => y.iter_mut().zip(x).for_each(|(y, x)| *y = r * x),
                Some(g) => {
                    for ((y, x), g) in y.iter_mut().zip(x).zip(g) {
                        *y = r * x * g;
                    }
                }
            }
        }
    }
}

/// dx ← r·(d − x̂·mean(d ∘ x̂)) for every row, where d = dy (∘ g).
pub fn backward(dx: &mut [f32], dy: &[f32], x: &[f32], stats: &[f32], g: Gain<'_>, width: usize) {
    parallel::rows(dx, width, HEAVY, |first, dx| {
        let rows = dx.len() / width;
        let range = first * width..first * width + dx.len();
        let stats = &stats[first..first + rows];
        backward_rows(dx, &dy[range.clone()], &x[range], stats, g, width);
    });
}

simd_kernel! {
    fn backward_rows(dx: &mut [f32], dy: &[f32], x: &[f32], stats: &[f32], gain: Option<&[f32]>, width: usize) {
        let n = width as f32;
        let rows = dx.chunks_exact_mut(width).zip(dy.chunks_exact(width));
        for (((dx, dy), x), &r) in rows.zip(x.chunks_exact(width)).zip(stats) {
            match gain {
                None => dx.copy_from_slice(dy),
                Some(g) => dx.iter_mut().zip(dy).zip(g).for_each(|((d, dy), g)| *d = dy * g),
            }
            let slope = row_dot::<FMA>(dx, x) / n * r * r;
            for (d, x) in dx.iter_mut().zip(x) {
                *d = r * fma::<FMA>(-slope, *x, *d);
            }
        }
    }
}

/// `dg` += Σ_rows dy ∘ x̂, the rows in order.
pub fn backward_gain(dg: &mut [f32], dy: &[f32], x: &[f32], stats: &[f32], width: usize) {
    let grain = LIGHT.div_ceil(stats.len().max(1)).max(64);
    parallel::rows(dg, 1, grain, |first, dg| gain_columns(dg, dy, x, stats, width, first));
}

simd_kernel! {
    /// The columns `first..first + dg.len()`.
    fn gain_columns(dg: &mut [f32], dy: &[f32], x: &[f32], stats: &[f32], width: usize, first: usize) {
        for ((dy, x), &r) in dy.chunks_exact(width).zip(x.chunks_exact(width)).zip(stats) {
            for ((dg, dy), x) in dg.iter_mut().zip(&dy[first..]).zip(&x[first..]) {
                *dg = fma::<FMA>(dy * x, r, *dg);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPS: f32 = 1e-5;

    /// y and, for this dy, dx and the share of dg; in f64.
    fn naive(x: &[f32], g: &[f32], dy: &[f32]) -> [Vec<f64>; 3] {
        let n = x.len() as f64;
        let [x, g, dy] = [x, g, dy].map(|v| v.iter().map(|&v| f64::from(v)).collect::<Vec<_>>());
        let r = 1.0 / (x.iter().map(|x| x * x).sum::<f64>() / n + f64::from(EPS)).sqrt();
        let y = x.iter().zip(&g).map(|(x, g)| g * r * x).collect();
        let d: Vec<f64> = dy.iter().zip(&g).map(|(dy, g)| dy * g).collect();
        let mean = d.iter().zip(&x).map(|(d, x)| d * r * x).sum::<f64>() / n;
        let dx = d.iter().zip(&x).map(|(d, x)| r * (d - r * x * mean)).collect();
        [y, dx, dy.iter().zip(&x).map(|(dy, x)| dy * r * x).collect()]
    }

    fn numbers(n: usize, salt: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * 37 + salt * 11) % 23) as f32 / 5.0 - 2.0).collect()
    }

    fn close(got: &[f32], want: &[f64], what: &str) {
        for (i, (g, w)) in got.iter().zip(want).enumerate() {
            assert!(
                (f64::from(*g) - w).abs() < 2e-5 * w.abs().max(1.0),
                "{what}[{i}]: {g}, not {w}"
            );
        }
    }

    #[test]
    fn rows_equal_their_naive_twin() {
        const ROWS: usize = 3;
        for width in 1..70 {
            let [x, dy] = [1, 2].map(|salt| numbers(ROWS * width, salt));
            let (g, ones) = (numbers(width, 3), vec![1.0; width]);
            for (gain, g) in [(None, &ones), (Some(&g[..]), &g)] {
                let (mut y, mut dx) = (vec![f32::NAN; x.len()], vec![f32::NAN; x.len()]);
                let (mut stats, mut dg) = (vec![f32::NAN; ROWS * STATS], vec![1.0; width]);
                forward(&mut y, &mut stats, &x, gain, width, EPS);
                backward(&mut dx, &dy, &x, &stats, gain, width);
                backward_gain(&mut dg, &dy, &x, &stats, width);
                let mut sums = vec![1.0; width];
                for row in 0..ROWS {
                    let at = row * width..(row + 1) * width;
                    let [want, want_dx, share] = naive(&x[at.clone()], g, &dy[at.clone()]);
                    close(&y[at.clone()], &want, "y");
                    close(&dx[at], &want_dx, "dx");
                    sums.iter_mut().zip(share).for_each(|(sum, share)| *sum += share);
                }
                close(&dg, &sums, "dg");
            }
        }
    }

    /// Without ε a row of zeros would be NaN.
    #[test]
    fn a_row_of_zeros_stays_one() {
        let (mut y, mut stats) = ([f32::NAN; 4], [f32::NAN]);
        forward(&mut y, &mut stats, &[0.0; 4], None, 4, EPS);
        assert_eq!(y, [0.0; 4]);
        assert!((stats[0] - 1.0 / EPS.sqrt()).abs() < 1e-2);
    }

    #[test]
    fn bits_do_not_depend_on_the_threads() {
        let (rows, width) = (700, 129);
        let [x, dy] = [1, 2].map(|salt| numbers(rows * width, salt));
        let g = numbers(width, 3);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let (mut y, mut dx) = (vec![0.0; x.len()], vec![0.0; x.len()]);
                let (mut stats, mut dg) = (vec![0.0; rows], vec![0.0; width]);
                forward(&mut y, &mut stats, &x, Some(&g), width, EPS);
                backward(&mut dx, &dy, &x, &stats, Some(&g), width);
                backward_gain(&mut dg, &dy, &x, &stats, width);
                (y, dx, dg)
            })
        };
        assert!(run(1) == run(3));
    }
}
