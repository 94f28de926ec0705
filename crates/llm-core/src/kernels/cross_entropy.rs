//! Softmax and negative log-likelihood in one: −ln p(target), and its gradient p − 1{target}.

use super::math::{exp, row_max, row_sum_of_exp};
use super::parallel::{self, HEAVY};
use super::simd::simd_kernel;
use crate::base::TokenId;

/// A target that counts for nothing: neither loss nor gradient, and the mean is over the others.
/// PyTorch's `ignore_index`.
pub const IGNORED: TokenId = TokenId::MAX;

/// `lse[n]` ← ln Σᵥ e^(logits[n, v]), every row with its maximum subtracted first.
pub fn log_sum_exp(lse: &mut [f32], logits: &[f32], width: usize) {
    let grain = HEAVY.div_ceil(width).max(2);
    parallel::rows(lse, 1, grain, |first, lse| {
        let rows = &logits[first * width..(first + lse.len()) * width];
        lse_rows(lse, rows, width);
    });
}

simd_kernel! {
    fn lse_rows(lse: &mut [f32], logits: &[f32], width: usize) {
        for (lse, row) in lse.iter_mut().zip(logits.chunks_exact(width)) {
            let max = row_max(row);
            *lse = max + libm::logf(row_sum_of_exp::<FMA>(row, max));
        }
    }
}

/// `−ln p(target) = lse − logits[target]` of each row, in nats; 0 where it is [`IGNORED`].
pub fn row_losses<'a>(
    lse: &'a [f32],
    logits: &'a [f32],
    targets: &'a [TokenId],
    width: usize,
) -> impl Iterator<Item = f32> + 'a {
    let rows = lse.iter().zip(logits.chunks_exact(width)).zip(targets);
    rows.map(|((lse, row), &t)| if t == IGNORED { 0.0 } else { lse - row[t as usize] })
}

/// Σₙ wₙ·lossesₙ in f64; without weights all are 1.
pub fn weighted_sum(losses: impl Iterator<Item = f32>, weights: Option<&[f32]>) -> f64 {
    match weights {
        None => losses.map(f64::from).sum(),
        Some(w) => losses.zip(w).map(|(loss, &w)| f64::from(w) * f64::from(loss)).sum(),
    }
}

/// `logits[n] ← scale·wₙ·(softmax(logits[n]) − 1{target})`, in place: the gradient of `scale`·Σ wₙ·lossesₙ, all
/// wₙ 1 without weights. Of rows whose target is [`IGNORED`] it is 0.
pub fn backward_in_place(
    logits: &mut [f32],
    lse: &[f32],
    targets: &[TokenId],
    weights: Option<&[f32]>,
    width: usize,
    scale: f32,
) {
    parallel::rows(logits, width, HEAVY, |first, rows| {
        let these = first..first + rows.len() / width;
        let weights = weights.map(|w| &w[these.clone()]);
        backward_rows(rows, &lse[these.clone()], &targets[these], weights, width, scale);
    });
}

simd_kernel! {
    fn backward_rows(
        logits: &mut [f32],
        lse: &[f32],
        targets: &[TokenId],
        weights: Option<&[f32]>,
        width: usize,
        scale: f32,
    ) {
        let rows = logits.chunks_exact_mut(width).zip(lse).zip(targets);
        for (n, ((row, &lse), &t)) in rows.enumerate() {
            if t == IGNORED {
                row.fill(0.0);
                continue;
            }
            let scale = weights.map_or(scale, |w| scale * w[n]);
            for v in row.iter_mut() {
                *v = scale * exp::<FMA>(*v - lse);
            }
            row[t as usize] -= scale;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_and_gradients_equal_their_naive_twin() {
        for width in [1, 2, 13, 16, 65, 257] {
            let rows = 7;
            let logits: Vec<f32> =
                (0..rows * width).map(|i| ((i * 37) % 61) as f32 - 30.0).collect();
            let target = |n: usize| if n == 3 { IGNORED } else { ((n * 5) % width) as TokenId };
            let targets: Vec<TokenId> = (0..rows).map(target).collect();
            let weights = [0.5, -1.5, 0.0, 9.0, 1.0, 2.0, -0.25];
            let mut lse = vec![f32::NAN; rows];
            log_sum_exp(&mut lse, &logits, width);
            let losses: Vec<f32> = row_losses(&lse, &logits, &targets, width).collect();
            for weights in [None, Some(&weights[..])] {
                let mut grad = logits.clone();
                backward_in_place(&mut grad, &lse, &targets, weights, width, 0.5);
                let mut all = 0.0;
                for n in 0..rows {
                    let (row, grad) = (&logits[n * width..][..width], &grad[n * width..][..width]);
                    if targets[n] == IGNORED {
                        assert_eq!((losses[n], grad), (0.0, &vec![0.0; width][..]));
                        continue;
                    }
                    let w = weights.map_or(1.0, |w| f64::from(w[n]));
                    let sum: f64 = row.iter().map(|&v| f64::from(v).exp()).sum();
                    let t = targets[n] as usize;
                    let loss = sum.ln() - f64::from(row[t]);
                    assert!((f64::from(losses[n]) - loss).abs() < 1e-5);
                    all += w * loss;
                    for v in 0..width {
                        let p = f64::from(row[v]).exp() / sum - f64::from(u8::from(v == t));
                        assert!((f64::from(grad[v]) - 0.5 * w * p).abs() < 2e-6 * w.abs().max(1.0));
                    }
                }
                assert!((weighted_sum(losses.iter().copied(), weights) - all).abs() < 1e-4);
            }
        }
    }

    #[test]
    fn huge_logits_do_not_overflow() {
        let mut lse = [f32::NAN];
        log_sum_exp(&mut lse, &[1e30, -1e30, 0.0], 3);
        assert_eq!(lse[0], 1e30);
    }
}
