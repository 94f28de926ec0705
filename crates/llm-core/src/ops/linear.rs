//! linear_lastdim and linear_tied: an affine map of the last axis.

use super::{expect_shape, last_dim, with_last};
use crate::autograd::Parent;
use crate::base::Result;
use crate::buffer::Buffer;
use crate::kernels::elementwise::add_column_sums;
use crate::kernels::gemm::{Execution, gemm, gemm_bias, matrix, matrix_mut};
use crate::listing;
use crate::profile::span;
use crate::tensor::{Op, Tensor};

/// y = x·W + b over the last axis, whatever the axes before it. The bias is optional.
///
/// # Shapes
/// `x [.., C]`, `w [C, O]`, `b [O]` to `[.., O]`. Weights are stored `[in, out]`, as the equation
/// reads; PyTorch's `nn.Linear` stores the transpose.
///
/// # Gradient
/// dx = dy·Wᵀ, dW = xᵀ·dy, db = Σ_rows dy.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when W is no matrix or the lengths do not fit.
pub fn linear_lastdim(x: &Tensor, w: &Tensor, b: Option<&Tensor>) -> Result<Tensor> {
    let c = last_dim("linear_lastdim", x)?;
    let [_, o] = w.dims("linear_lastdim", "w of shape [in, out]")?;
    expect_shape("linear_lastdim", "w of shape", w, &[c, o])?;
    affine(x, w, b, [c, o], false)
}

/// y = x·Wᵀ + b: an output head that shares its table with the embedding. The bias is optional.
///
/// # Shapes
/// `x [.., C]`, `w [V, C]`, `b [V]` to `[.., V]`.
///
/// # Gradient
/// dx = dy·W, dW = dyᵀ·x, db = Σ_rows dy.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when W is no matrix or the lengths do not fit.
pub fn linear_tied(x: &Tensor, w: &Tensor, b: Option<&Tensor>) -> Result<Tensor> {
    let c = last_dim("linear_tied", x)?;
    let [v, _] = w.dims("linear_tied", "w of shape [out, in]")?;
    expect_shape("linear_tied", "w of shape", w, &[v, c])?;
    affine(x, w, b, [c, v], true)
}

/// [`linear_lastdim`], or where W is stored `[out, in]` (`transposed`) [`linear_tied`].
fn affine(
    x: &Tensor,
    w: &Tensor,
    b: Option<&Tensor>,
    [c, o]: [usize; 2],
    transposed: bool,
) -> Result<Tensor> {
    let (_span, work) = (span("linear"), Execution::here());
    if let Some(b) = b {
        let op = if transposed { "linear_tied" } else { "linear_lastdim" };
        expect_shape(op, "b of shape", b, &[o])?;
    }
    let n = x.numel() / c;
    let mut y = Buffer::stale(n * o);
    let (xm, ym) = (matrix(x.data(), n, c), matrix_mut(&mut y, n, o));
    let wm = match transposed {
        false => matrix(w.data(), c, o),
        true => matrix(w.data(), o, c).reversed_axes(),
    };
    match b {
        Some(b) => gemm_bias(xm, wm, b.data(), ym, work),
        None => gemm(1.0, xm, wm, 0.0, ym, work),
    }

    let (px, pw) = (x.parent(), w.parent());
    let pb = b.map_or_else(Parent::constant, Tensor::parent);
    let (vx, vw) = (x.detach(), w.detach());
    let parents = [px.clone(), pw.clone(), pb.clone()];
    let shape = with_last(x.shape(), o);
    let facts = || vec![("transposed", transposed.into()), listing::product(work)];
    let op = Op::new("linear", [x, w]).and(b).says(&facts);
    Ok(Tensor::from_op(op, &shape, y, &parents.each_ref(), move |dy, grads| {
        let lift = work.precision.lift(&dy);
        let lifted = (lift != 1.0).then(|| dy.iter().map(|x| lift * x).collect::<Vec<_>>());
        let dym = matrix(lifted.as_deref().unwrap_or(&dy), n, o);
        let (xm, less) = (matrix(vx.data(), n, c), 1.0 / lift);
        grads.accumulate(&px, |dx, beta| {
            let dx = matrix_mut(dx, n, c);
            match transposed {
                false => gemm(less, dym, matrix(vw.data(), c, o).t(), beta, dx, work),
                true => gemm(less, dym, matrix(vw.data(), o, c), beta, dx, work),
            }
        });
        grads.accumulate(&pw, |dw, beta| match transposed {
            false => gemm(less, xm.t(), dym, beta, matrix_mut(dw, c, o), work),
            true => gemm(less, dym.t(), xm, beta, matrix_mut(dw, o, c), work),
        });
        grads.accumulate_zeroed(&pb, |db| add_column_sums(db, &dy));
    }))
}
