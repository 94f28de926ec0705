//! self_attention_mha: H heads, each over its own D = C/H channels.

use llm_core::base::Message;
use llm_core::buffer::Buffer;
use llm_core::kernels::attention::{
    Accumulate, Head, HeadGradients, HeadOutput, Scoring, backward, each_head, forward, head_view,
    head_views, head_views_mut, qkv_views_mut, row_views_mut,
};
use llm_core::kernels::dropout::Dropout;
use llm_core::ndarray::{ArrayView2, ArrayView4};
use llm_core::ops::{AttentionParams, Context};
use llm_core::profile::{enter, span};
use llm_core::tensor::Op;
use llm_core::{Error, Result, Tensor, listing, message, ops};
use std::sync::Arc;

/// Multi-head causal self-attention with its projections:
///
/// ```text
/// q, k, v   = x·W_qkv + b_qkv                  [B,T,C] each, read as [B,T,H,D]
/// S_h[i,j]  = q_h[i]·k_h[j] / √D               for j ≤ i, hidden for j > i
/// P_h[i,:]  = softmax(S_h[i,:])
/// Y_h[i]    = Σⱼ P_h[i,j]·v_h[j]
/// out       = concat_h(Y_h)·W_proj + b_proj
/// ```
///
/// # Shapes
/// `x [B, T, C]`, `w_qkv [C, 3C]`, `b_qkv [3C]`, `w_proj [C, C]`, `b_proj [C]`, C = H·D; result
/// `[B, T, C]`. Of `ctx`, dropout acts on P, heads may be switched off, and the probe is shown P and
/// Y; `Context::new(0)` is the equation alone.
///
/// # Gradient
/// Into x and all four parameters.
///
/// # Errors
/// [`Error::Config`] when H does not divide C (the message lists what does), [`Error::Shape`]
/// naming the tensor whose shape does not fit.
///
/// # Reference
/// Vaswani et al., "Attention Is All You Need", 3.2.2, with the decoder's mask.
pub fn self_attention_mha(
    x: &Tensor,
    w_qkv: &Tensor,
    b_qkv: &Tensor,
    w_proj: &Tensor,
    b_proj: &Tensor,
    n_heads: usize,
    ctx: &Context<'_>,
) -> Result<Tensor> {
    let _span = enter("self_attention_mha");
    let [_, t, _] =
        AttentionParams { w_qkv, b_qkv, w_proj, b_proj }.dims("self_attention_mha", x)?;
    let qkv = ops::linear_lastdim(x, w_qkv, Some(b_qkv))?; // [B, T, 3C]
    let masks = ctx.weight_masks(n_heads * t);
    let y = causal_attention_heads(&qkv, n_heads, ctx.heads, masks)?; // [B, T, C]
    let y = ctx.show(&qkv, y, n_heads)?;
    ops::linear_lastdim(&y, w_proj, Some(b_proj)) // [B, T, C]
}

/// The part between the projections, every (sequence, head) by itself.
///
/// `keep` says for each head whether it is used; an empty list uses all. A head that is not used
/// gives zeros and gets no gradient. With `dropout` some weights of P are dropped.
///
/// # Shapes
/// `qkv [B, T, 3C]` to `[B, T, C]`; `keep [H]` or empty.
///
/// # Gradient
/// Into qkv.
///
/// # Errors
/// As [`self_attention_mha`].
pub fn causal_attention_heads(
    qkv: &Tensor,
    n_heads: usize,
    keep: &[bool],
    dropout: Option<Dropout>,
) -> Result<Tensor> {
    let _span = span("attention");
    const OP: &str = "self_attention_mha";
    const QKV: &str = "qkv of shape [B, T, 3C], none of them 0";
    let [b, t, c3] = qkv.dims(OP, QKV)?;
    Error::unless_shaped(qkv.numel() > 0 && c3 % 3 == 0, OP, QKV, qkv.shape())?;
    let (c, h) = (c3 / 3, n_heads);
    let d = head_dim(c, h)?;
    let fits = keep.is_empty() || keep.len() == h;
    Error::unless_shaped(fits, OP, format_args!("a mask of {h} heads"), &[keep.len()])?;
    let keep: Arc<[bool]> = if keep.is_empty() { vec![true; h].into() } else { keep.into() };
    let scoring = Scoring::new(d);
    let work = b * h * t * t;

    let (mut y, mut lse) = (Buffer::stale(b * t * c), Buffer::stale(b * h * t));
    let parts = head_views(qkv.data(), [b, t, 3 * h, d]); // of each sequence: H q, H k, H v, [T, D]
    let outputs = [head_views_mut(&mut y, [b, t, h, d]), row_views_mut(&mut lse, [b, h, t])];
    each_head(outputs, work, |sequence, head, [mut y, lse]| {
        if !keep[head] {
            return y.fill(0.0);
        }
        let masks = dropout.map(|masks| masks.skip((sequence * h + head) * t));
        let qkv = qkv_of(&parts, sequence, head, h);
        forward(Head { masks, ..Head::new(qkv, scoring) }, y, lse);
    });

    let y = Arc::new(y);
    let (parent, kept_y, qkv_value, used) = (qkv.parent(), y.clone(), qkv.detach(), keep.clone());
    let facts = || listing::attention([h, h, d], scoring, &used, dropout);
    let op = Op::new("attention", [qkv]).says(&facts);
    Ok(Tensor::from_op_sharing(op, &[b, t, c], y, &[&qkv.parent()], move |dy, grads| {
        let mut dqkv = Buffer::stale(b * t * c3);
        let parts = head_views(qkv_value.data(), [b, t, 3 * h, d]);
        let [y, dy] = [&kept_y[..], &dy].map(|x| head_views(x, [b, t, h, d]));
        each_head(qkv_views_mut(&mut dqkv, [b, t, h, d]), work, |sequence, head, mut grads| {
            if !keep[head] {
                return grads.iter_mut().for_each(|g| g.fill(0.0));
            }
            let masks = dropout.map(|masks| masks.skip((sequence * h + head) * t));
            let [y, dy] = [&y, &dy].map(|x| head_view(x, sequence, head));
            let output = HeadOutput { y, lse: &lse[(sequence * h + head) * t..][..t], dy };
            let head = Head { masks, ..Head::new(qkv_of(&parts, sequence, head, h), scoring) };
            let [dq, dk, dv] = grads;
            backward(head, output, HeadGradients { dq, dk, dv }, Accumulate::First);
        });
        grads.give(&parent, dqkv);
    }))
}

/// The queries, keys and values of one head: groups h, H + h and 2H + h of its sequence.
fn qkv_of<'a>(
    parts: &ArrayView4<'a, f32>,
    sequence: usize,
    head: usize,
    n_heads: usize,
) -> [ArrayView2<'a, f32>; 3] {
    [0, 1, 2].map(|part| head_view(parts, sequence, part * n_heads + head))
}

/// D = C/H.
///
/// # Errors
/// [`Error::Config`] listing the numbers of heads that divide C.
pub(crate) fn head_dim(c: usize, n_heads: usize) -> Result<usize> {
    if n_heads > 0 && c.is_multiple_of(n_heads) {
        return Ok(c / n_heads);
    }
    let divisors = (1..=c).filter(|h| c.is_multiple_of(*h));
    let reason = message!(
        "{} heads do not divide a width (d_model) of {}; valid values: {}",
        n_heads,
        c,
        Message::list(divisors)
    );
    Err(Error::config("heads", reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::ndarray::ArrayD;

    const NAMES: [&str; 5] = ["x", "w_qkv", "b_qkv", "w_proj", "b_proj"];

    fn run(shapes: &[&[usize]; 5], n_heads: usize) -> Result<Tensor> {
        let [x, w_qkv, b_qkv, w_proj, b_proj] =
            shapes.map(|shape| Tensor::new(ArrayD::zeros(shape)));
        self_attention_mha(&x, &w_qkv, &b_qkv, &w_proj, &b_proj, n_heads, &Context::new(0))
    }

    /// Each wrong shape among four right ones: which tensor, and what it should have been.
    #[test]
    fn a_wrong_shape_is_refused_by_its_name() {
        let right: [&[usize]; 5] = [&[2, 3, 4], &[4, 12], &[12], &[4, 4], &[4]];
        assert_eq!(run(&right, 2).unwrap().shape(), [2, 3, 4]);
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
                let Err(Error::Shape { op, expected, got }) = run(&all, 2) else {
                    panic!("{} {shape:?} is taken", NAMES[i]);
                };
                assert_eq!((op, &got[..]), ("self_attention_mha", shape));
                assert!(expected.starts_with(&format!("{} of shape", NAMES[i])), "{expected}");
            }
        }
        // Shapes that fit each other, but not x.
        let all: [&[usize]; 5] = [&[2, 3, 4], &[4, 24], &[24], &[8, 4], &[4]];
        let message = run(&all, 2).unwrap_err().to_string();
        let want = "self_attention_mha: expected w_qkv of shape [4, 12], got [4, 24]";
        assert_eq!(message, want);
    }

    #[test]
    fn between_the_projections_nothing_may_be_empty() {
        for shape in [[0, 3, 12], [2, 0, 12], [2, 3, 0], [2, 3, 11]] {
            let qkv = Tensor::new(ArrayD::zeros(&shape[..]));
            let refused = causal_attention_heads(&qkv, 2, &[], None).unwrap_err();
            assert!(matches!(refused, Error::Shape { .. }), "{refused}");
        }
    }

    #[test]
    fn heads_that_do_not_divide_the_width_are_refused() {
        let right: [&[usize]; 5] = [&[2, 3, 4], &[4, 12], &[12], &[4, 4], &[4]];
        for n_heads in [0, 3, 5, 8] {
            let error = run(&right, n_heads).unwrap_err();
            assert!(matches!(error, Error::Config { field: "heads", .. }), "{error}");
        }
    }
}
