//! The weights of attention, from queries, keys and a mask.

use super::layout::{Layout, Sizes};
use super::softmax::softmax_rows;
use llm_core::Tensor;
use llm_core::buffer::Buffer;
use llm_core::kernels::attention::{each_head, head_view, head_views, head_views_mut};
use llm_core::kernels::gemm::{Threads, gemm, matrix, matrix_mut};
use llm_core::kernels::softmax as kernel;
use llm_core::ndarray::{ArrayView2, ArrayViewD, ArrayViewMut2, Axis, Ix2, Zip};
use llm_core::profile::span;
use std::sync::Arc;

/// P = softmax(Q·Kᵀ·scale + mask) of every head. The scale multiplies, as a reciprocal worked out
/// once: a division for each score would be slower and no nearer to the truth.
///
/// # Shapes
/// `q [batch.., L, H·D]`, `k [batch.., S, H·D]`, `mask` and the result as [`Layout::scores`].
///
/// # Gradient
/// dS = P ∘ (dP − Σⱼ P·dP), dQ = dS·K·scale, dK = dSᵀ·Q·scale. P is 0 in hidden places, and so
/// is dS.
pub(super) fn attention_weights(
    q: &Tensor,
    k: &Tensor,
    layout: &Layout,
    scale: f32,
    mask: Option<ArrayViewD<'_, f32>>,
) -> Tensor {
    let _span = span("attention_weights");
    let sizes = layout.sizes;
    let Sizes { b, h, l, s, d, .. } = sizes;

    let mut p = Buffer::stale(sizes.scores());
    let (queries, keys) = (head_views(q.data(), [b, l, h, d]), head_views(k.data(), [b, s, h, d]));
    each_head([sizes.score_views_mut(&mut p)], sizes.scores(), |sequence, head, [p]| {
        let mut scores = Buffer::stale(l * s);
        let [q, k] = [&queries, &keys].map(|x| head_view(x, sequence, head));
        gemm(scale, q, k.t(), 0.0, matrix_mut(&mut scores, l, s), Threads::One);
        if let Some(mask) = &mask {
            let mask = of_head(mask.clone(), sequence * h + head);
            add_mask(matrix_mut(&mut scores, l, s), mask);
        }
        softmax_rows(p.into_slice().expect("the scores of a head lie together"), &scores, s);
    });

    let p = Arc::new(p);
    let (pq, pk, q, k, kept) = (q.parent(), k.parent(), q.detach(), k.detach(), p.clone());
    let parents = [pq.clone(), pk.clone()];
    let (name, shape) = ("attention_weights", layout.scores());
    Tensor::from_op_sharing(name, &shape, p, &parents.each_ref(), move |dp, grads| {
        let (mut dq, mut dk) = (Buffer::stale(q.numel()), Buffer::stale(k.numel()));
        let queries = head_views(q.data(), [b, l, h, d]);
        let keys = head_views(k.data(), [b, s, h, d]);
        let outputs =
            [head_views_mut(&mut dq, [b, l, h, d]), head_views_mut(&mut dk, [b, s, h, d])];
        each_head(outputs, sizes.scores(), |sequence, head, [dq, dk]| {
            let mut ds = Buffer::stale(l * s);
            let range = sizes.range(sequence, head);
            kernel::backward(&mut ds, &dp[range.clone()], &kept[range], s);
            let ds = matrix(&ds, l, s);
            gemm(scale, ds, head_view(&keys, sequence, head), 0.0, dq, Threads::One);
            gemm(scale, ds.t(), head_view(&queries, sequence, head), 0.0, dk, Threads::One);
        });
        grads.give(&pq, dq);
        grads.give(&pk, dk);
    })
}

/// S + mask, but −∞ wherever the mask is: hidden is hidden, whatever the score.
fn add_mask(scores: ArrayViewMut2<'_, f32>, mask: ArrayView2<'_, f32>) {
    Zip::from(scores).and(mask).for_each(|score, &m| {
        *score = if m == f32::NEG_INFINITY { m } else { *score + m };
    });
}

/// The last two axes at one place of the others, which `flat` counts row by row.
fn of_head(mut mask: ArrayViewD<'_, f32>, mut flat: usize) -> ArrayView2<'_, f32> {
    while mask.ndim() > 2 {
        let axis = mask.ndim() - 3;
        let len = mask.len_of(Axis(axis));
        mask = mask.index_axis_move(Axis(axis), flat % len);
        flat /= len;
    }
    mask.into_dimensionality::<Ix2>().expect("two axes are left")
}
