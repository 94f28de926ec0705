//! The other half of attention: values, weighted.

use super::layout::{Layout, Sizes};
use llm_core::Tensor;
use llm_core::buffer::Buffer;
use llm_core::kernels::attention::{each_head, head_view, head_views, head_views_mut};
use llm_core::kernels::gemm::{Threads, gemm, matrix};
use llm_core::profile::span;

/// Y = P·V of every head, the heads side by side.
///
/// # Shapes
/// `p` as [`Layout::scores`], `v [batch.., S, H·Dv]` to `[batch.., L, H·Dv]`.
///
/// # Gradient
/// dP = dY·Vᵀ, dV = Pᵀ·dY.
pub(super) fn weighted_sum(p: &Tensor, v: &Tensor, layout: &Layout) -> Tensor {
    let _span = span("weighted_sum");
    let sizes = layout.sizes;
    let Sizes { b, h, l, s, dv: d, .. } = sizes;

    let mut y = Buffer::stale(b * l * h * d);
    let values = head_views(v.data(), [b, s, h, d]);
    each_head([head_views_mut(&mut y, [b, l, h, d])], sizes.scores(), |sequence, head, [y]| {
        let p = matrix(&p.data()[sizes.range(sequence, head)], l, s);
        gemm(1.0, p, head_view(&values, sequence, head), 0.0, y, Threads::One);
    });

    let (pp, pv, p, v) = (p.parent(), v.parent(), p.detach(), v.detach());
    let parents = [pp.clone(), pv.clone()];
    let (name, shape) = ("weighted_sum", layout.result());
    Tensor::from_op(name, &shape, y, &parents.each_ref(), move |dy, grads| {
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
