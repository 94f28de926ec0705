//! One new position against cached keys and values: a step of generation.

use super::super::math::{LANES, row_dot, row_exp_and_sum, row_max};
use super::super::simd::{fma, prefetch, simd_kernel};
use super::scoring::{Scoring, cap};
use super::views::row;
use ndarray::ArrayView2;

/// Positions between the one that is used and the one that is asked for. The rows of one head lie
/// apart, which the processor's own guess does not follow.
const AHEAD: usize = 8;

/// y ← softmax(K·q·scale) · V for one query over all positions that are given: a window was cut out of
/// them before.
///
/// # Shapes
/// `q, y [D]`; `keys, values [n, D]`, n ≥ 1, the new position included; `scores [n]` is scratch.
pub fn attend_one(
    q: &[f32],
    keys: ArrayView2<'_, f32>,
    values: ArrayView2<'_, f32>,
    scoring: impl Into<Scoring>,
    scores: &mut [f32],
    y: &mut [f32],
) {
    let Scoring { scale, soft_cap, window: _ } = scoring.into();
    let ahead = |x: &ArrayView2<'_, f32>| AHEAD * x.strides()[0].unsigned_abs();
    let (next_key, next_value) = (ahead(&keys), ahead(&values));
    for (j, s) in scores.iter_mut().enumerate() {
        *s = scale * dot(q, row(&keys, j), next_key);
    }
    if let Some(c) = soft_cap {
        cap(scores, c);
    }
    softmax(scores);
    y.fill(0.0);
    for (j, &p) in scores.iter().enumerate() {
        add_scaled(y, p, row(&values, j), next_value);
    }
}

simd_kernel! {
    fn dot(a: &[f32], b: &[f32], ahead: usize) -> f32 {
        b.chunks(LANES).for_each(|line| prefetch(line, ahead));
        row_dot::<FMA>(a, b)
    }
}

simd_kernel! {
    fn softmax(scores: &mut [f32]) {
        let max = row_max(scores);
        let inverse = 1.0 / row_exp_and_sum::<FMA>(scores, max);
        scores.iter_mut().for_each(|s| *s *= inverse);
    }
}

simd_kernel! {
    fn add_scaled(y: &mut [f32], p: f32, v: &[f32], ahead: usize) {
        v.chunks(LANES).for_each(|line| prefetch(line, ahead));
        for (y, &v) in y.iter_mut().zip(v) {
            *y = fma::<FMA>(p, v, *y);
        }
    }
}
