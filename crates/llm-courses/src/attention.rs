//! scaled_dot_product_attention: the function that everything else here is made of, and its two halves.

use crate::layout::{Layout, Sizes};
use crate::mask::AdditiveMask;
use crate::softmax::softmax_rows;
use llm_core::buffer::Buffer;
use llm_core::kernels::attention::{each_head, head_view, head_views, head_views_mut};
use llm_core::kernels::gemm::{Threads, gemm, matrix, matrix_mut};
use llm_core::kernels::softmax as kernel;
use llm_core::listing::Fact;
use llm_core::ndarray::{ArrayView2, ArrayViewD, ArrayViewMut2, Axis, Ix2, Zip};
use llm_core::profile::span;
use llm_core::tensor::Op;
use llm_core::{Result, Tensor};
use std::sync::Arc;

/// Attention with any batch axes, scale and mask:
///
/// ```text
/// S = Q·Kᵀ·scale + mask        scale = 1/√D unless given
/// P = softmax of every row of S
/// Y = P·V
/// ```
///
/// Q, K and V need not have the same length or the same width. A row of S that the mask hides
/// wholly gives a row of zeros.
///
/// # Shapes
/// `q [.., L, D]`, `k [.., S, D]`, `v [.., S, Dv]` to `[.., L, Dv]`. The batch axes `..` are any
/// number, none included, and the same in all three. The mask broadcasts to `[.., L, S]`.
///
/// # Gradient
/// Into q, k and v: dV = Pᵀ·dY, dP = dY·Vᵀ, dS = P ∘ (dP − Σⱼ P·dP), dQ = dS·K·scale,
/// dK = dSᵀ·Q·scale.
///
/// # Errors
/// [`Error::Shape`](llm_core::Error::Shape) naming the argument that does not fit.
///
/// # Reference
/// Vaswani et al., "Attention Is All You Need", 3.2.1, equation 1.
///
/// ```
/// use llm_core::{Tensor, ndarray::ArrayD};
/// use llm_courses::{AdditiveMask, scaled_dot_product_attention};
///
/// let q = Tensor::new(ArrayD::ones(vec![2, 3, 4, 8])); // 2·3 matrices of L = 4, D = 8
/// let k = Tensor::new(ArrayD::ones(vec![2, 3, 6, 8]));
/// let v = Tensor::new(ArrayD::ones(vec![2, 3, 6, 5]));
/// let causal = AdditiveMask::causal(4, 6)?;
/// let y = scaled_dot_product_attention(&q, &k, &v, None, Some(&causal))?;
/// assert_eq!(y.shape(), [2, 3, 4, 5]);
/// # Ok::<(), llm_core::Error>(())
/// ```
#[doc(alias = "scaled_dot_product_attention_simple")] // its name in Tiny-LLM
pub fn scaled_dot_product_attention(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    scale: Option<f32>,
    mask: Option<&AdditiveMask>,
) -> Result<Tensor> {
    const OP: &str = "scaled_dot_product_attention";
    let layout = Layout::new(OP, [q, k, v], None)?;
    let mask = mask.map(|mask| mask.over(OP, &layout.scores())).transpose()?;
    let scale = scale.unwrap_or_else(|| default_scale(layout.sizes.d));
    let p = attention_weights(q, k, &layout, scale, mask); // [.., L, S]
    Ok(weighted_sum(&p, v, &layout)) // [.., L, Dv]
}

/// 1/√D: scores of independent numbers of variance 1 then have variance 1 too.
pub(crate) fn default_scale(d: usize) -> f32 {
    1.0 / (d as f32).sqrt()
}

/// P = softmax(Q·Kᵀ·scale + mask) of every head. The scale multiplies, as a reciprocal worked out
/// once: a division for each score would be slower and no nearer to the truth.
///
/// # Shapes
/// `q [batch.., L, H·D]`, `k [batch.., S, H·D]`, `mask` and the result as [`Layout::scores`].
///
/// # Gradient
/// dS = P ∘ (dP − Σⱼ P·dP), dQ = dS·K·scale, dK = dSᵀ·Q·scale. P is 0 in hidden places, and so
/// is dS.
pub(crate) fn attention_weights(
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
    let of = [q, k];
    let (pq, pk, q, k, kept) = (q.parent(), k.parent(), q.detach(), k.detach(), p.clone());
    let parents = [pq.clone(), pk.clone()];
    let facts = || {
        let values = mask.iter().map(|m| ("mask", Fact::Values(m.iter().copied().collect())));
        [("heads", h.into()), ("scale", scale.into())].into_iter().chain(values).collect()
    };
    let op = Op::new("attention_weights", of).says(&facts);
    let shape = layout.scores();
    Tensor::from_op_sharing(op, &shape, p, &parents.each_ref(), move |dp, grads| {
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

/// Y = P·V of every head, the heads side by side.
///
/// # Shapes
/// `p` as [`Layout::scores`], `v [batch.., S, H·Dv]` to `[batch.., L, H·Dv]`.
///
/// # Gradient
/// dP = dY·Vᵀ, dV = Pᵀ·dY.
pub(crate) fn weighted_sum(p: &Tensor, v: &Tensor, layout: &Layout) -> Tensor {
    let _span = span("weighted_sum");
    let sizes = layout.sizes;
    let Sizes { b, h, l, s, dv: d, .. } = sizes;

    let mut y = Buffer::stale(b * l * h * d);
    let values = head_views(v.data(), [b, s, h, d]);
    each_head([head_views_mut(&mut y, [b, l, h, d])], sizes.scores(), |sequence, head, [y]| {
        let p = matrix(&p.data()[sizes.range(sequence, head)], l, s);
        gemm(1.0, p, head_view(&values, sequence, head), 0.0, y, Threads::One);
    });

    let of = [p, v];
    let (pp, pv, p, v) = (p.parent(), v.parent(), p.detach(), v.detach());
    let parents = [pp.clone(), pv.clone()];
    let facts = || vec![("heads", h.into())];
    let op = Op::new("weighted_sum", of).says(&facts);
    let shape = layout.result();
    Tensor::from_op(op, &shape, y, &parents.each_ref(), move |dy, grads| {
        let (mut dp, mut dv) = (Buffer::stale(p.numel()), Buffer::stale(v.numel()));
        let (dy, values) = (head_views(&dy, [b, l, h, d]), head_views(v.data(), [b, s, h, d]));
        let outputs = [sizes.score_views_mut(&mut dp), head_views_mut(&mut dv, [b, s, h, d])];
        each_head(outputs, sizes.scores(), |sequence, head, [dp, dv]| {
            let [dy, v] = [&dy, &values].map(|x| head_view(x, sequence, head));
            let p = matrix(&p.data()[sizes.range(sequence, head)], l, s);
            gemm(1.0, dy, v.t(), 0.0, dp, Threads::One);
            gemm(1.0, p.t(), dy, 0.0, dv, Threads::One);
        });
        grads.give(&pp, dp);
        grads.give(&pv, dv);
    })
}
