//! One causal head, forward and backward; the whole text before a query, or a window of it.

use super::super::dropout::Dropout;
use super::super::gemm::{Threads, Triangle, gemm, matrix, matrix_mut};
use super::super::math::{LANES, exp, row_dot, row_exp_and_sum, row_max};
use super::super::simd::simd_kernel;
use super::scoring::{Scoring, cap, cap_with_slopes};
use super::turned::{row_stride, transposed};
use super::views::row;
use super::{BLOCK, MASKED};
use crate::buffer::Buffer;
use ndarray::{ArrayView2, ArrayViewMut2, s};
use std::ops::Range;

/// What one head attends with.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// `[T, D]`: queries.
    pub q: ArrayView2<'a, f32>,
    /// `[T, D]`: keys.
    pub k: ArrayView2<'a, f32>,
    /// `[T, D]`: values.
    pub v: ArrayView2<'a, f32>,
    /// How scores come about.
    pub scoring: Scoring,
    /// The dropout of P; `None` keeps all weights.
    pub masks: Option<Dropout>,
}

impl<'a> Head<'a> {
    /// A head of queries, keys and values, without dropout.
    pub fn new([q, k, v]: [ArrayView2<'a, f32>; 3], scoring: impl Into<Scoring>) -> Head<'a> {
        Head { q, k, v, scoring: scoring.into(), masks: None }
    }
}

/// What [`forward`] made of a head, and the gradient of it.
#[derive(Clone, Copy, Debug)]
pub struct HeadOutput<'a> {
    /// `[T, D]`.
    pub y: ArrayView2<'a, f32>,
    /// `[T]`: ln Σ_j e^(S_ij) of each row.
    pub lse: &'a [f32],
    /// `[T, D]`: the gradient of y.
    pub dy: ArrayView2<'a, f32>,
}

/// Where [`backward`] writes the gradients of a head.
#[derive(Debug)]
pub struct HeadGradients<'a> {
    /// `[T, D]`: that of the queries, overwritten.
    pub dq: ArrayViewMut2<'a, f32>,
    /// `[T, D]`: that of the keys, written as [`Accumulate`] says.
    pub dk: ArrayViewMut2<'a, f32>,
    /// `[T, D]`: that of the values, as that of the keys.
    pub dv: ArrayViewMut2<'a, f32>,
}

/// y ← softmax over j ≤ i of (q·kᵀ·scale), times v; with `masks` some of its weights are dropped.
///
/// With a soft cap each score is capped before the softmax. With a `window` the softmax runs over i − window < j ≤ i. Keys outside the windows of a whole
/// block of queries are not touched.
///
/// # Shapes
/// `y [T, D]`, `lse [T, 1]` ← ln Σ_j e^(S_ij), an input of [`backward`].
pub fn forward(head: Head<'_>, mut y: ArrayViewMut2<'_, f32>, lse: ArrayViewMut2<'_, f32>) {
    let Head { q, k, v, scoring, masks } = head;
    let Scoring { scale, soft_cap, window } = scoring;
    let t = q.nrows();
    let lse = lse.into_slice().expect("one number a row, side by side");
    let mut scratch = Buffer::stale(VisibleKeys::most(t, window));
    let k = transposed(k);
    let k = matrix(&k, q.ncols(), row_stride(t)); // [D, T]
    for start in (0..t).step_by(BLOCK) {
        let visible = VisibleKeys::new(start, t, window);
        let VisibleKeys { end, first, rows, cols, .. } = visible;
        let p = &mut scratch[..rows * cols];
        // S = Q Kᵀ·scale, for the keys up to this block's last row
        let (q, keys) = (q.slice(s![start..end, ..]), k.slice(s![.., first..end]));
        gemm(scale, q, keys, 0.0, matrix_mut(p, rows, cols), Triangle::OfC(visible.ahead()));
        if let Some(c) = soft_cap {
            cap(p, c);
        }
        // P = softmax of S
        softmax_rows(p, visible, &mut lse[start..end]);
        if let Some(masks) = masks {
            drop_scores(p, visible, &masks);
        }
        // Y = P V
        let (p, values) = (matrix(p, rows, cols), v.slice(s![first..end, ..]));
        let y = y.slice_mut(s![start..end, ..]);
        gemm(1.0, p, values, 0.0, y, Triangle::LowerA(visible.ahead()));
    }
}

/// The keys visible to a block of query rows, as columns of its scores.
#[derive(Clone, Copy)]
struct VisibleKeys {
    /// The block's rows are `start..end`.
    start: usize,
    end: usize,
    /// The first key visible to any of them.
    first: usize,
    rows: usize,
    /// Keys `first..end`.
    cols: usize,
    window: usize,
}

impl VisibleKeys {
    fn new(start: usize, t: usize, window: usize) -> VisibleKeys {
        let end = (start + BLOCK).min(t);
        let first = (start + 1).saturating_sub(window);
        VisibleKeys { start, end, first, rows: end - start, cols: end - first, window }
    }

    /// The most scores that a block of a text has.
    fn most(t: usize, window: usize) -> usize {
        BLOCK.min(t) * t.min(window.saturating_add(BLOCK))
    }

    /// Row r sees no column after r + this.
    fn ahead(&self) -> isize {
        (self.start - self.first) as isize
    }

    /// The columns visible to row r.
    #[inline(always)]
    fn of_row(&self, r: usize) -> Range<usize> {
        let own = self.start + r;
        (own + 1).saturating_sub(self.window) - self.first..own + 1 - self.first
    }
}

simd_kernel! {
    /// Each row of `p` becomes the softmax of its visible scores, the rest 0.
    fn softmax_rows(p: &mut [f32], visible: VisibleKeys, lse: &mut [f32]) {
        for (r, (row, lse)) in p.chunks_exact_mut(visible.cols).zip(lse).enumerate() {
            let (padded, hidden) = whole_vectors(row, visible.of_row(r));
            let max = row_max(padded);
            let sum = row_exp_and_sum::<FMA>(padded, max);
            *lse = max + libm::logf(sum);
            let inverse = 1.0 / sum;
            padded.iter_mut().for_each(|p| *p *= inverse);
            hidden.fill(0.0);
        }
    }
}

/// Multiplies the numbers of each row by its mask: that of its place in the text, whatever the window.
fn drop_scores(scores: &mut [f32], visible: VisibleKeys, masks: &Dropout) {
    let mut m = Buffer::stale(visible.end);
    for (r, row) in scores.chunks_exact_mut(visible.cols).enumerate() {
        let m = &mut m[..visible.start + r + 1];
        masks.multipliers(visible.start + r, m);
        row.iter_mut().zip(&m[visible.first..]).for_each(|(s, m)| *s *= m);
    }
}

/// The scores of a row up to the last `visible` one and the few after them that fill the last
/// vector (computed too, see [`Triangle::OfC`]), the hidden ones set to −∞ so that e^… makes them 0; and the rest. Scores one by one would
/// cost more than the vector.
#[inline(always)]
fn whole_vectors(row: &mut [f32], visible: Range<usize>) -> (&mut [f32], &mut [f32]) {
    let padded = visible.end.next_multiple_of(LANES).min(row.len());
    row[..visible.start].fill(f32::NEG_INFINITY);
    row[visible.end..padded].fill(f32::NEG_INFINITY);
    row.split_at_mut(padded)
}

/// Whether [`backward`] overwrites dK and dV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accumulate {
    /// The first head of these keys and values, or the only one: dK and dV are overwritten.
    First,
    /// A further head of the same keys and values: its dK and dV are added.
    Add,
}

/// The gradients of [`forward`], undone line by line:
///
/// dV = Pᵀ·dY,  dP = dY·Vᵀ,  dS = P ∘ (dP − Σ_j P·dP),  dQ = dS·K·scale,  dK = dSᵀ·Q·scale
///
/// where Σ_j P_ij·dP_ij = dY_i·Y_i, so the sum needs no second pass over the row. With masks,
/// Y = (M ∘ P)·V: dV takes M ∘ P for P, and dP = M ∘ (dY·Vᵀ). With a soft cap c, of which
/// S = c·tanh(s/c) is the capped score, dS is multiplied by 1 − (S/c)².
///
/// # Shapes
/// `lse [T]`, all views `[T, D]`.
pub fn backward(head: Head<'_>, out: HeadOutput<'_>, grads: HeadGradients<'_>, how: Accumulate) {
    let Head { q, k, v, scoring, masks } = head;
    let Scoring { scale, soft_cap, window } = scoring;
    let HeadOutput { y, lse, dy } = out;
    let HeadGradients { mut dq, mut dk, mut dv } = grads;
    let t = q.nrows();
    let mut p_scratch = Buffer::stale(VisibleKeys::most(t, window));
    let mut ds_scratch = Buffer::stale(VisibleKeys::most(t, window));
    let mut slopes = Buffer::stale(soft_cap.map_or(0, |_| ds_scratch.len()));
    let mut dots = [0.0; BLOCK];
    let (k_t, v_t) = (transposed(k), transposed(v));
    let [k_t, v_t] = [&k_t, &v_t].map(|x| matrix(x, q.ncols(), row_stride(t))); // [D, T]
    // The last block sees all keys, or the last ones: taken first, it overwrites dK and dV, and the
    // others add.
    for start in (0..t).step_by(BLOCK).rev() {
        let visible = VisibleKeys::new(start, t, window);
        let VisibleKeys { end, first, rows, cols, .. } = visible;
        let beta = if end == t && how == Accumulate::First { 0.0 } else { 1.0 };
        if beta == 0.0 {
            dk.slice_mut(s![..first, ..]).fill(0.0);
            dv.slice_mut(s![..first, ..]).fill(0.0);
        }
        let (q, dy) = (q.slice(s![start..end, ..]), dy.slice(s![start..end, ..]));
        let (p, ds) = (&mut p_scratch[..rows * cols], &mut ds_scratch[..rows * cols]);
        for (i, dot) in dots[..rows].iter_mut().enumerate() {
            *dot = dot_of_rows(row(&dy, i), row(&y, start + i));
        }
        // P and dP, then dS in place of dP
        let columns = s![.., first..end];
        let ahead = visible.ahead();
        let of_c = Triangle::OfC(ahead);
        gemm(scale, q, k_t.slice(columns), 0.0, matrix_mut(p, rows, cols), of_c);
        gemm(1.0, dy, v_t.slice(columns), 0.0, matrix_mut(ds, rows, cols), of_c);
        if let Some(masks) = masks {
            drop_scores(ds, visible, &masks);
        }
        if let Some(c) = soft_cap {
            cap_with_slopes(p, &mut slopes, c);
        }
        probs_and_dscores(p, ds, visible, &lse[start..end], &dots[..rows]);
        // No slopes without a cap; of hidden scores they are anything.
        for (r, (ds, slopes)) in
            ds.chunks_exact_mut(cols).zip(slopes.chunks_exact(cols)).enumerate()
        {
            let seen = visible.of_row(r);
            ds[seen.clone()].iter_mut().zip(&slopes[seen]).for_each(|(ds, slope)| *ds *= slope);
        }
        if let Some(masks) = masks {
            drop_scores(p, visible, &masks);
        }
        let (p, ds, keys) = (matrix(p, rows, cols), matrix(ds, rows, cols), s![first..end, ..]);
        let (lower, upper) = (Triangle::LowerA(ahead), Triangle::UpperA(ahead));
        gemm(1.0, p.t(), dy, beta, dv.slice_mut(keys), upper);
        gemm(scale, ds, k.slice(keys), 0.0, dq.slice_mut(s![start..end, ..]), lower);
        gemm(scale, ds.t(), q, beta, dk.slice_mut(keys), upper);
    }
}

simd_kernel! {
    fn dot_of_rows(a: &[f32], b: &[f32]) -> f32 {
        row_dot::<FMA>(a, b)
    }
}

simd_kernel! {
    /// `p`: scores in, P out. `ds`: dP in, dS = P ∘ (dP − dot) out.
    fn probs_and_dscores(p: &mut [f32], ds: &mut [f32], visible: VisibleKeys, lse: &[f32], dots: &[f32]) {
        let rows = p.chunks_exact_mut(visible.cols).zip(ds.chunks_exact_mut(visible.cols));
        for (r, (((p, ds), &lse), &dot)) in rows.zip(lse).zip(dots).enumerate() {
            let (p, hidden) = whole_vectors(p, visible.of_row(r));
            hidden.fill(0.0);
            let (ds, hidden) = ds.split_at_mut(p.len());
            hidden.fill(0.0);
            for (p, ds) in p.iter_mut().zip(ds) {
                *p = exp::<FMA>(*p - lse);
                *ds = *p * (*ds - dot);
            }
        }
    }
}

/// P itself, for looking inside: scores written out, hidden ones set to [`MASKED`], softmax.
///
/// # Shapes
/// `q, k [T, D]`, result `[T·T]`, row-major.
pub fn probs(q: ArrayView2<'_, f32>, k: ArrayView2<'_, f32>, rule: impl Into<Scoring>) -> Vec<f32> {
    let (t, Scoring { scale, soft_cap, window }) = (q.nrows(), rule.into());
    let mut scores = vec![0.0; t * t];
    gemm(scale, q, k.t(), 0.0, matrix_mut(&mut scores, t, t), Threads::One);
    if let Some(c) = soft_cap {
        cap(&mut scores, c);
    }
    for (i, row) in scores.chunks_exact_mut(t.max(1)).enumerate() {
        row[..(i + 1).saturating_sub(window)].fill(MASKED);
        row[i + 1..].fill(MASKED);
    }
    let mut p = vec![0.0; t * t];
    crate::kernels::softmax::forward(&mut p, &scores, t);
    p
}
