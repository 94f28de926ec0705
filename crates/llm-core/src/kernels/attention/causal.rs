//! One causal head, forward and backward.

use super::super::dropout::Dropout;
use super::super::gemm::{Threads, gemm, matrix, matrix_mut};
use super::super::math::{LANES, exp, row_dot, row_exp_and_sum, row_max};
use super::super::simd::simd_kernel;
use super::views::row;
use super::{BLOCK, MASKED};
use crate::buffer::Buffer;
use ndarray::{ArrayView2, ArrayViewMut2, s};

/// y ← softmax over j ≤ i of (q·kᵀ·scale), times v; with `masks` some of its weights are dropped.
///
/// # Shapes
/// `q, k, v, y [T, D]`, `lse [T, 1]` ← ln Σ_{j≤i} e^(S_ij), which [`backward`] needs.
pub fn forward(
    q: ArrayView2<'_, f32>,
    k: ArrayView2<'_, f32>,
    v: ArrayView2<'_, f32>,
    scale: f32,
    mut y: ArrayViewMut2<'_, f32>,
    lse: ArrayViewMut2<'_, f32>,
    masks: Option<Dropout>,
) {
    let t = q.nrows();
    let lse = lse.into_slice().expect("one number a row, side by side");
    let mut scratch = Buffer::stale(BLOCK.min(t) * t);
    let k = transposed(k);
    let k = matrix(&k, q.ncols(), row_stride(t)); // [D, T]
    for start in (0..t).step_by(BLOCK) {
        let end = (start + BLOCK).min(t);
        let (rows, cols) = (end - start, end);
        let p = &mut scratch[..rows * cols];
        // S = Q Kᵀ·scale, for the keys up to this block's last row
        let (q, keys) = (q.slice(s![start..end, ..]), k.slice(s![.., ..end]));
        gemm(scale, q, keys, 0.0, matrix_mut(p, rows, cols), Threads::One);
        // P = softmax of S
        softmax_rows(p, cols, start, &mut lse[start..end]);
        if let Some(masks) = masks {
            drop_scores(p, cols, start, &masks);
        }
        // Y = P V
        let (p, values) = (matrix(p, rows, cols), v.slice(s![..end, ..]));
        gemm(1.0, p, values, 0.0, y.slice_mut(s![start..end, ..]), Threads::One);
    }
}

simd_kernel! {
    /// Row r of `p` becomes the softmax of its first `start + r + 1` scores, the rest 0.
    fn softmax_rows(p: &mut [f32], cols: usize, start: usize, lse: &mut [f32]) {
        for (r, (row, lse)) in p.chunks_exact_mut(cols).zip(lse).enumerate() {
            let (padded, hidden) = whole_vectors(row, start + r + 1);
            let max = row_max(padded);
            let sum = row_exp_and_sum::<FMA>(padded, max);
            *lse = max + sum.ln();
            let inverse = 1.0 / sum;
            padded.iter_mut().for_each(|p| *p *= inverse);
            hidden.fill(0.0);
        }
    }
}

/// `x [T, D]` as `[D, T]`, its rows [`row_stride`] apart: turned over once for a head, not once for
/// each of its blocks.
fn transposed(x: ArrayView2<'_, f32>) -> Buffer {
    let (t, d) = x.dim();
    let stride = row_stride(t);
    let mut out = Buffer::stale(stride * d);
    let mut first = 0;
    while first + SIDE <= t {
        turn_rows(&mut out, stride, first, std::array::from_fn(|i| row(&x, first + i)));
        first += SIDE;
    }
    for i in first..t {
        row(&x, i).iter().enumerate().for_each(|(c, x)| out[c * stride + i] = *x);
    }
    out
}

/// Numbers from one row of a transposed head to the next: no power of two, or all rows would want
/// the same few places of the cache.
fn row_stride(t: usize) -> usize {
    t.next_multiple_of(LANES) + LANES
}

/// Rows that are turned over together: squares of this size stay in registers.
const SIDE: usize = 8;

simd_kernel! {
    /// Columns `first..first + SIDE` of `out [D, stride]` ← these rows.
    fn turn_rows(out: &mut [f32], stride: usize, first: usize, rows: [&[f32]; SIDE]) {
        let d = rows[0].len();
        let rows = rows.map(|row| row[..d].as_chunks::<SIDE>());
        for block in 0..d / SIDE {
            let square: [[f32; SIDE]; SIDE] = std::array::from_fn(|i| rows[i].0[block]);
            for c in 0..SIDE {
                let line: [f32; SIDE] = std::array::from_fn(|i| square[i][c]);
                out[(block * SIDE + c) * stride + first..][..SIDE].copy_from_slice(&line);
            }
        }
        for c in 0..d % SIDE {
            let line: [f32; SIDE] = std::array::from_fn(|i| rows[i].1[c]);
            out[(d - d % SIDE + c) * stride + first..][..SIDE].copy_from_slice(&line);
        }
    }
}

/// Multiplies the visible numbers of each row by its mask.
fn drop_scores(scores: &mut [f32], cols: usize, start: usize, masks: &Dropout) {
    let mut m = Buffer::stale(cols);
    for (r, row) in scores.chunks_exact_mut(cols).enumerate() {
        let m = &mut m[..start + r + 1];
        masks.multipliers(start + r, m);
        row.iter_mut().zip(m.iter()).for_each(|(s, m)| *s *= m);
    }
}

/// The first `seen` scores of a row and the few after them that fill the last vector, these set to
/// −∞ so that e^… makes them 0; and the rest. Scores one by one would cost more than the vector.
#[inline(always)]
fn whole_vectors(row: &mut [f32], seen: usize) -> (&mut [f32], &mut [f32]) {
    let padded = seen.next_multiple_of(LANES).min(row.len());
    row[seen..padded].fill(f32::NEG_INFINITY);
    row.split_at_mut(padded)
}

/// The gradients of [`forward`], undone line by line:
///
/// dV = Pᵀ·dY,  dP = dY·Vᵀ,  dS = P ∘ (dP − Σ_j P·dP),  dQ = dS·K·scale,  dK = dSᵀ·Q·scale
///
/// where Σ_j P_ij·dP_ij = dY_i·Y_i, so the sum needs no second pass over the row. With masks,
/// Y = (M ∘ P)·V: dV takes M ∘ P for P, and dP = M ∘ (dY·Vᵀ).
///
/// # Shapes
/// All views `[T, D]`, `lse [T]`; `dq`, `dk`, `dv` are overwritten.
pub fn backward(
    q: ArrayView2<'_, f32>,
    k: ArrayView2<'_, f32>,
    v: ArrayView2<'_, f32>,
    scale: f32,
    y: ArrayView2<'_, f32>,
    lse: &[f32],
    dy: ArrayView2<'_, f32>,
    mut dq: ArrayViewMut2<'_, f32>,
    mut dk: ArrayViewMut2<'_, f32>,
    mut dv: ArrayViewMut2<'_, f32>,
    masks: Option<Dropout>,
) {
    let t = q.nrows();
    let mut p_scratch = Buffer::stale(BLOCK.min(t) * t);
    let mut ds_scratch = Buffer::stale(BLOCK.min(t) * t);
    let mut dots = [0.0; BLOCK];
    let (k_t, v_t) = (transposed(k), transposed(v));
    let [k_t, v_t] = [&k_t, &v_t].map(|x| matrix(x, q.ncols(), row_stride(t))); // [D, T]
    // The last block sees all keys: taken first, it overwrites dK and dV, and the others add.
    for start in (0..t).step_by(BLOCK).rev() {
        let end = (start + BLOCK).min(t);
        let (rows, cols) = (end - start, end);
        let beta = if end == t { 0.0 } else { 1.0 };
        let (q, dy) = (q.slice(s![start..end, ..]), dy.slice(s![start..end, ..]));
        let (p, ds) = (&mut p_scratch[..rows * cols], &mut ds_scratch[..rows * cols]);
        for (i, dot) in dots[..rows].iter_mut().enumerate() {
            *dot = dot_of_rows(row(&dy, i), row(&y, start + i));
        }
        // P and dP, then dS in place of dP
        let seen = s![.., ..end];
        gemm(scale, q, k_t.slice(seen), 0.0, matrix_mut(p, rows, cols), Threads::One);
        gemm(1.0, dy, v_t.slice(seen), 0.0, matrix_mut(ds, rows, cols), Threads::One);
        if let Some(masks) = masks {
            drop_scores(ds, cols, start, &masks);
        }
        probs_and_dscores(p, ds, cols, start, &lse[start..end], &dots[..rows]);
        if let Some(masks) = masks {
            drop_scores(p, cols, start, &masks);
        }
        let (p, ds) = (matrix(p, rows, cols), matrix(ds, rows, cols));
        gemm(1.0, p.t(), dy, beta, dv.slice_mut(s![..end, ..]), Threads::One);
        gemm(
            scale,
            ds,
            k.slice(s![..end, ..]),
            0.0,
            dq.slice_mut(s![start..end, ..]),
            Threads::One,
        );
        gemm(scale, ds.t(), q, beta, dk.slice_mut(s![..end, ..]), Threads::One);
    }
}

simd_kernel! {
    fn dot_of_rows(a: &[f32], b: &[f32]) -> f32 {
        row_dot::<FMA>(a, b)
    }
}

simd_kernel! {
    /// `p`: scores in, P out. `ds`: dP in, dS = P ∘ (dP − dot) out.
    fn probs_and_dscores(p: &mut [f32], ds: &mut [f32], cols: usize, start: usize, lse: &[f32], dots: &[f32]) {
        let rows = p.chunks_exact_mut(cols).zip(ds.chunks_exact_mut(cols)).zip(lse).zip(dots);
        for (r, (((p, ds), &lse), &dot)) in rows.enumerate() {
            let (p, hidden) = whole_vectors(p, start + r + 1);
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
pub fn probs(q: ArrayView2<'_, f32>, k: ArrayView2<'_, f32>, scale: f32) -> Vec<f32> {
    let t = q.nrows();
    let mut scores = vec![0.0; t * t];
    gemm(scale, q, k.t(), 0.0, matrix_mut(&mut scores, t, t), Threads::One);
    for i in 0..t {
        scores[i * t + i + 1..(i + 1) * t].fill(MASKED);
    }
    let mut p = vec![0.0; t * t];
    crate::kernels::softmax::forward(&mut p, &scores, t);
    p
}
