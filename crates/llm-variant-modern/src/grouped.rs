//! Attention between the projections: heads that may share keys and values, and see a window.

use llm_core::buffer::Buffer;
use llm_core::kernels::attention::{
    Accumulate, Head, HeadGradients, HeadOutput, Scoring, backward, each_group, each_head, forward,
    head_view, head_views, head_views_mut, row_views_mut,
};
use llm_core::kernels::dropout::Dropout;
use llm_core::ndarray::{ArrayView2, ArrayView4, ArrayViewMut2, ArrayViewMut3, Axis, Slice};
use llm_core::profile::span;
use llm_core::tensor::Op;
use llm_core::{AttentionSpec, Error, Result, Tensor, listing, message};
use std::sync::Arc;

/// How the channels of `qkv` are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadShape {
    /// H: heads of queries.
    pub n_heads: usize,
    /// G: heads of keys, and as many of values; it divides H. Head h reads group h / (H/G).
    pub kv_heads: usize,
    /// D.
    pub head_dim: usize,
    /// How scores come about.
    pub scoring: Scoring,
}

impl HeadShape {
    /// H heads of queries over G of keys and values, of D channels each, that see the whole text.
    pub fn of([n_heads, kv_heads, head_dim]: [usize; 3]) -> HeadShape {
        HeadShape { n_heads, kv_heads, head_dim, scoring: Scoring::new(head_dim) }
    }

    /// The same heads, of which each query sees the last `window` positions.
    pub fn within(self, window: usize) -> HeadShape {
        HeadShape { scoring: Scoring { window, ..self.scoring }, ..self }
    }

    /// The same heads, whose scores have a soft cap.
    pub fn capped(self, cap: f32) -> HeadShape {
        HeadShape { scoring: Scoring { soft_cap: Some(cap), ..self.scoring }, ..self }
    }

    /// The heads of a description in a model of this width.
    pub fn new(spec: &AttentionSpec, d_model: usize) -> HeadShape {
        let (n_heads, kv_heads) = (spec.n_heads, spec.kv_heads());
        let (head_dim, scoring) = (spec.head_dim(d_model), spec.scoring(d_model));
        HeadShape { n_heads, kv_heads, head_dim, scoring }
    }

    /// H + 2G: heads of queries, keys and values together.
    pub fn all(&self) -> usize {
        self.n_heads.saturating_add(self.kv_heads.saturating_mul(2))
    }

    /// H/G: heads of queries in a group.
    pub fn each(&self) -> usize {
        self.n_heads / self.kv_heads.max(1)
    }

    /// The query, key and value of head h of a sequence, `[T, D]` each.
    pub(crate) fn views<'a>(
        &self,
        parts: &ArrayView4<'a, f32>,
        sequence: usize,
        h: usize,
    ) -> [ArrayView2<'a, f32>; 3] {
        let key = self.n_heads + h / self.each();
        [h, key, key + self.kv_heads].map(|n| head_view(parts, sequence, n))
    }
}

/// Every (sequence, head) by itself, between the projections.
///
/// `keep` says for each head of queries whether it is used; an empty list uses all. A head that is
/// not used gives zeros and gets no gradient. With `dropout` some weights of P are dropped.
///
/// # Shapes
/// `qkv [B, T, (H+2G)·D]`: H heads of queries, G of keys, G of values; result `[B, T, H·D]`; `keep
/// [H]` or empty.
///
/// # Gradient
/// Into qkv. That of a key or value is the sum over the heads that read it, in their order.
///
/// # Errors
/// [`Error::Config`] when G does not divide H or one of both, D or the window is 0;
/// [`Error::Shape`] when qkv or `keep` does not fit.
///
/// # Reference
/// Ainslie et al., "GQA: Training Generalized Multi-Query Transformer Models".
pub fn causal_attention_grouped(
    qkv: &Tensor,
    heads: HeadShape,
    keep: &[bool],
    dropout: Option<Dropout>,
) -> Result<Tensor> {
    let _span = span("attention");
    let HeadShape { n_heads: h, kv_heads: g, head_dim: d, scoring } = heads;
    let [b, t] = checked(qkv, heads, keep)?;
    let keep: Arc<[bool]> = if keep.is_empty() { vec![true; h].into() } else { keep.into() };
    let work = b * h * t * t.min(scoring.window);

    let (mut y, mut lse) = (Buffer::stale(b * t * h * d), Buffer::stale(b * h * t));
    let parts = head_views(qkv.data(), [b, t, heads.all(), d]);
    let outputs = [head_views_mut(&mut y, [b, t, h, d]), row_views_mut(&mut lse, [b, h, t])];
    each_head(outputs, work, |sequence, head, [mut y, lse]| {
        if !keep[head] {
            return y.fill(0.0);
        }
        let masks = dropout.map(|masks| masks.skip((sequence * h + head) * t));
        let qkv = heads.views(&parts, sequence, head);
        forward(Head { masks, ..Head::new(qkv, scoring) }, y, lse);
    });

    let y = Arc::new(y);
    let (parent, kept_y, value, used) = (qkv.parent(), y.clone(), qkv.detach(), keep.clone());
    let shape = [b, t, h * d];
    let facts = || listing::attention([h, g, d], scoring, &used, dropout);
    let op = Op::new("attention", [qkv]).says(&facts);
    Ok(Tensor::from_op_sharing(op, &shape, y, &[&qkv.parent()], move |dy, grads| {
        let mut dqkv = Buffer::stale(value.numel());
        let parts = head_views(value.data(), [b, t, heads.all(), d]);
        let [y, dy] = [&kept_y[..], &dy].map(|x| head_views(x, [b, t, h, d]));
        let (dq, rest) = head_views_mut(&mut dqkv, [b, t, heads.all(), d]).split_at(Axis(1), h);
        let (dk, dv) = rest.split_at(Axis(1), g);
        // One task for all heads that read the same keys: no other task writes their gradients.
        each_group([dq, dk, dv], g, work, |sequence, group, [mut dq, dk, dv]| {
            let [mut dk, mut dv] = [dk, dv].map(|x| x.index_axis_move(Axis(0), 0));
            let mut accumulate = Accumulate::First;
            for i in 0..heads.each() {
                let (head, mut dq) = (group * heads.each() + i, head_of(&mut dq, i));
                if !keep[head] {
                    dq.fill(0.0);
                    continue;
                }
                let masks = dropout.map(|masks| masks.skip((sequence * h + head) * t));
                let [y, dy] = [&y, &dy].map(|x| head_view(x, sequence, head));
                let output = HeadOutput { y, lse: &lse[(sequence * h + head) * t..][..t], dy };
                let qkv = heads.views(&parts, sequence, head);
                let head = Head { masks, ..Head::new(qkv, scoring) };
                let gradients = HeadGradients { dq, dk: dk.view_mut(), dv: dv.view_mut() };
                backward(head, output, gradients, accumulate);
                accumulate = Accumulate::Add;
            }
            if accumulate == Accumulate::First {
                dk.fill(0.0); // no head reads them
                dv.fill(0.0);
            }
        });
        grads.give(&parent, dqkv);
    }))
}

/// B and T of a qkv that these heads can read, of which `keep` says those that are used.
fn checked(qkv: &Tensor, heads: HeadShape, keep: &[bool]) -> Result<[usize; 2]> {
    const OP: &str = "causal_attention_grouped";
    let HeadShape { n_heads: h, kv_heads: g, head_dim: d, scoring } = heads;
    let divides = g > 0 && h > 0 && h.is_multiple_of(g);
    Error::unless(divides, "kv_heads", message!("{} do not divide {} heads", g, h))?;
    let reason = message!("a head of 0 channels, or that sees 0 positions");
    Error::unless(d > 0 && scoring.window > 0, "heads", reason)?;
    let [b, t, width] = qkv.dims(OP, "qkv of shape [B, T, (H+2G)·D]")?;
    let wanted = heads.all().saturating_mul(d);
    let expected = format_args!("qkv of shape [B, T, {wanted}], none of them 0");
    Error::unless_shaped(b * t > 0 && width == wanted, OP, expected, qkv.shape())?;
    let fits = keep.is_empty() || keep.len() == h;
    Error::unless_shaped(fits, OP, format_args!("a mask of {h} heads"), &[keep.len()])?;
    Ok([b, t])
}

/// Head i of a group, `[T, D]`.
fn head_of<'a>(group: &'a mut ArrayViewMut3<'_, f32>, i: usize) -> ArrayViewMut2<'a, f32> {
    group.slice_axis_mut(Axis(0), Slice::from(i..i + 1)).index_axis_move(Axis(0), 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::ndarray::ArrayD;

    fn heads() -> HeadShape {
        HeadShape::of([4, 2, 3])
    }

    fn run(shape: &[usize], heads: HeadShape, keep: &[bool]) -> Result<Tensor> {
        causal_attention_grouped(&Tensor::new(ArrayD::ones(shape)), heads, keep, None)
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(run(&[2, 5, 24], heads(), &[]).unwrap().shape(), [2, 5, 12]);
        for shape in [&[5, 24][..], &[2, 5, 23], &[2, 5, 36], &[0, 5, 24], &[2, 0, 24]] {
            let refused = run(shape, heads(), &[]).unwrap_err();
            assert!(matches!(refused, Error::Shape { .. }), "{refused}");
        }
        assert!(matches!(run(&[2, 5, 24], heads(), &[true; 2]), Err(Error::Shape { .. })));
        for (n_heads, kv_heads, head_dim, window) in
            [(4, 3, 3, 1), (4, 0, 3, 1), (0, 1, 3, 1), (2, 4, 3, 1), (4, 2, 0, 1), (4, 2, 3, 0)]
        {
            let heads = HeadShape::of([n_heads, kv_heads, head_dim]).within(window);
            let refused = run(&[2, 5, 24], heads, &[]).unwrap_err();
            assert!(matches!(refused, Error::Config { .. }), "{refused}");
        }
    }

    /// A group of which no head is used gets zeros, not what lay in the storage before.
    #[test]
    fn heads_that_are_not_used_give_and_get_nothing() {
        let qkv = Tensor::parameter(ArrayD::from_shape_fn(vec![1, 3, 24], |i| {
            (i[1] * 7 + i[2] * 5 % 11) as f32 / 10.0
        }));
        let y =
            causal_attention_grouped(&qkv, heads(), &[false, false, false, true], None).unwrap();
        assert!(y.data().chunks(12).all(|row| row[..9].iter().all(|&y| y == 0.0)));
        let grads = llm_core::ops::sum(&y).unwrap().backward().unwrap();
        let used = |channel: usize| match channel {
            0..9 | 12..15 | 18..21 => false, // queries of three heads; keys and values of group 0
            _ => !(18..21).contains(&channel),
        };
        for (i, &d) in grads.get(&qkv).unwrap().iter().enumerate() {
            assert!(d == 0.0 || used(i % 24), "{i}: {d}");
        }
        assert!(grads.get(&qkv).unwrap().iter().any(|&d| d != 0.0));
    }
}
