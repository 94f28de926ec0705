//! self_attention_1h: the baseline's attention, one head over all channels.

use super::{Context, expect_shape, linear_lastdim};
use crate::base::{Error, Result};
use crate::buffer::Buffer;
use crate::kernels::attention::{
    Accumulate, Head, HeadGradients, HeadOutput, Scoring, backward, each_head, forward, head_view,
    head_views, head_views_mut, qkv_views_mut, row_views_mut,
};
use crate::kernels::dropout::Dropout;
use crate::listing;
use crate::profile::{enter, span};
use crate::tensor::{Op, Tensor};
use std::sync::Arc;

/// The four parameter tensors of an attention layer. Their shapes do not depend on the number of
/// heads; a variant differs only in how it reads the channel axis.
#[derive(Clone, Copy, Debug)]
pub struct AttentionParams<'a> {
    /// `[C, 3C]`: columns 0..C make the queries, C..2C the keys, 2C..3C the values.
    pub w_qkv: &'a Tensor,
    /// `[3C]`.
    pub b_qkv: &'a Tensor,
    /// `[C, C]`.
    pub w_proj: &'a Tensor,
    /// `[C]`.
    pub b_proj: &'a Tensor,
}

impl AttentionParams<'_> {
    /// B, T and C of `x [B, T, C]`, if the four have the shapes that belong to this C. `op` is who
    /// asks, for the message.
    ///
    /// # Errors
    /// [`Error::Shape`] naming the first tensor that does not fit.
    pub fn dims(&self, op: &'static str, x: &Tensor) -> Result<[usize; 3]> {
        const X: &str = "x of shape [B, T, C], none of them 0";
        let [b, t, c] = x.dims(op, X)?;
        Error::unless_shaped(x.numel() > 0, op, X, x.shape())?;
        expect_shape(op, "w_qkv of shape", self.w_qkv, &[c, 3 * c])?;
        expect_shape(op, "b_qkv of shape", self.b_qkv, &[3 * c])?;
        expect_shape(op, "w_proj of shape", self.w_proj, &[c, c])?;
        expect_shape(op, "b_proj of shape", self.b_proj, &[c])?;
        Ok([b, t, c])
    }
}

/// Single-head causal self-attention with its projections:
///
/// ```text
/// q, k, v = x·W_qkv + b_qkv
/// S[i,j]  = q[i]·k[j] / √C          for j ≤ i, hidden for j > i
/// P[i,:]  = softmax(S[i,:])
/// Y[i]    = Σⱼ P[i,j]·v[j]
/// out     = Y·W_proj + b_proj
/// ```
///
/// # Shapes
/// `x [B, T, C]`, parameters as in [`AttentionParams`], result `[B, T, C]`. Of `ctx`, dropout acts on
/// P and the probe is shown P and Y; `Context::new(0)` is the equation alone.
///
/// # Gradient
/// Into x and all four parameters; through S as in
/// [`kernels::attention::backward`](crate::kernels::attention::backward).
///
/// # Errors
/// [`Error::Shape`] naming the tensor whose shape does not fit.
///
/// # Reference
/// Vaswani et al., "Attention Is All You Need", 3.2.1, with the decoder's mask.
pub fn self_attention_1h(
    x: &Tensor,
    w_qkv: &Tensor,
    b_qkv: &Tensor,
    w_proj: &Tensor,
    b_proj: &Tensor,
    ctx: &Context<'_>,
) -> Result<Tensor> {
    let _span = enter("self_attention_1h");
    let [_, t, _] =
        AttentionParams { w_qkv, b_qkv, w_proj, b_proj }.dims("self_attention_1h", x)?;
    let qkv = linear_lastdim(x, w_qkv, Some(b_qkv))?; // [B, T, 3C]
    let y = causal_attention_1h(&qkv, ctx.weight_masks(t))?; // [B, T, C]
    let y = ctx.show(&qkv, y, 1)?;
    linear_lastdim(&y, w_proj, Some(b_proj)) // [B, T, C]
}

/// The part between the projections: Y from q, k, v. With `dropout` some weights of P are dropped.
///
/// # Shapes
/// `qkv [B, T, 3C]` to `[B, T, C]`.
///
/// # Gradient
/// Into qkv.
///
/// # Errors
/// [`Error::Shape`] when qkv has not three axes, the last divisible by 3, or is empty.
pub fn causal_attention_1h(qkv: &Tensor, dropout: Option<Dropout>) -> Result<Tensor> {
    let _span = span("attention");
    const QKV: &str = "qkv of shape [B, T, 3C], none of them 0";
    let [b, t, c3] = qkv.dims("self_attention_1h", QKV)?;
    let fits = qkv.numel() > 0 && c3 % 3 == 0;
    Error::unless_shaped(fits, "self_attention_1h", QKV, qkv.shape())?;
    let c = c3 / 3;
    let scoring = Scoring::new(c);
    let work = b * t * t;

    let (mut y, mut lse) = (Buffer::stale(b * t * c), Buffer::stale(b * t));
    let parts = head_views(qkv.data(), [b, t, 3, c]); // q, k, v of every sequence: [T, C]
    let outputs = [head_views_mut(&mut y, [b, t, 1, c]), row_views_mut(&mut lse, [b, 1, t])];
    each_head(outputs, work, |sequence, _, [y, lse]| {
        let qkv = [0, 1, 2].map(|part| head_view(&parts, sequence, part));
        let masks = dropout.map(|masks| masks.skip(sequence * t));
        forward(Head { masks, ..Head::new(qkv, scoring) }, y, lse);
    });

    let y = Arc::new(y);
    let (parent, kept, qkv_value) = (qkv.parent(), y.clone(), qkv.detach());
    let facts = || listing::attention([1, 1, c], scoring, &[], dropout);
    let op = Op::new("attention", [qkv]).says(&facts);
    Ok(Tensor::from_op_sharing(op, &[b, t, c], y, &[&qkv.parent()], move |dy, grads| {
        let mut dqkv = Buffer::stale(b * t * c3);
        let parts = head_views(qkv_value.data(), [b, t, 3, c]);
        let [y, dy] = [&kept[..], &dy].map(|x| head_views(x, [b, t, 1, c]));
        each_head(qkv_views_mut(&mut dqkv, [b, t, 1, c]), work, |sequence, _, [dq, dk, dv]| {
            let qkv = [0, 1, 2].map(|part| head_view(&parts, sequence, part));
            let masks = dropout.map(|masks| masks.skip(sequence * t));
            let [y, dy] = [&y, &dy].map(|x| head_view(x, sequence, 0));
            let output = HeadOutput { y, lse: &lse[sequence * t..(sequence + 1) * t], dy };
            let head = Head { masks, ..Head::new(qkv, scoring) };
            backward(head, output, HeadGradients { dq, dk, dv }, Accumulate::First);
        });
        grads.give(&parent, dqkv);
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Probe;
    use ndarray::ArrayD;

    const NAMES: [&str; 5] = ["x", "w_qkv", "b_qkv", "w_proj", "b_proj"];

    fn run(shapes: &[&[usize]; 5]) -> Result<Tensor> {
        let [x, w_qkv, b_qkv, w_proj, b_proj] =
            shapes.map(|shape| Tensor::new(ArrayD::zeros(shape)));
        self_attention_1h(&x, &w_qkv, &b_qkv, &w_proj, &b_proj, &Context::new(0))
    }

    /// Each wrong shape among four right ones: which tensor, and what it should have been.
    #[test]
    fn a_wrong_shape_is_refused_by_its_name() {
        let right: [&[usize]; 5] = [&[2, 3, 4], &[4, 12], &[12], &[4, 4], &[4]];
        assert_eq!(run(&right).unwrap().shape(), [2, 3, 4]);
        let wrong: [(usize, &[&[usize]]); 5] = [
            (0, &[&[4], &[3, 4], &[1, 2, 3, 4], &[0, 3, 4], &[2, 0, 4], &[2, 3, 0], &[]]),
            (1, &[&[4, 24], &[4, 11], &[12, 4], &[5, 12], &[48], &[1, 4, 12]]),
            (2, &[&[11], &[24], &[1], &[1, 12], &[]]),
            (3, &[&[4, 5], &[5, 4], &[8, 4], &[16], &[1, 4, 4]]),
            (4, &[&[5], &[1], &[1, 4], &[]]),
        ];
        for (i, shapes) in wrong {
            for &shape in shapes {
                let mut all = right;
                all[i] = shape;
                let Err(Error::Shape { op, expected, got }) = run(&all) else {
                    panic!("{} {shape:?} is taken", NAMES[i]);
                };
                assert_eq!((op, &got[..]), ("self_attention_1h", shape));
                assert!(expected.starts_with(&format!("{} of shape", NAMES[i])), "{expected}");
            }
        }
        // Shapes that fit each other, but not x.
        let all: [&[usize]; 5] = [&[2, 3, 4], &[4, 24], &[24], &[8, 4], &[4]];
        let message = run(&all).unwrap_err().to_string();
        let want = "self_attention_1h: expected w_qkv of shape [4, 12], got [4, 24]";
        assert_eq!(message, want);
    }

    #[test]
    fn between_the_projections_nothing_may_be_empty() {
        for shape in [[0, 3, 12], [2, 0, 12], [2, 3, 0], [2, 3, 11]] {
            let qkv = Tensor::new(ArrayD::zeros(&shape[..]));
            let refused = causal_attention_1h(&qkv, None).unwrap_err();
            assert!(matches!(refused, Error::Shape { .. }), "{refused}");
        }
    }

    /// What is shown is taken apart, so it must be what it is said to be.
    #[test]
    fn a_probe_is_not_shown_what_does_not_fit() {
        struct Nobody;
        impl Probe for Nobody {}
        let of = |shape: &[usize]| Tensor::new(ArrayD::zeros(shape));
        let ctx = Context::new(0).with_probe(Some(&Nobody));
        let y = of(&[2, 3, 4]);
        assert!(ctx.show(&of(&[2, 3, 12]), y.clone(), 2).is_ok());
        for (qkv, n_heads) in
            [(&[2, 3, 12], 0), (&[2, 3, 12], 3), (&[2, 3, 8], 2), (&[1, 3, 12], 2)]
        {
            let refused = ctx.show(&of(qkv), y.clone(), n_heads).unwrap_err();
            assert!(matches!(refused, Error::Shape { op: "probe", .. }), "{refused}");
        }
    }
}
