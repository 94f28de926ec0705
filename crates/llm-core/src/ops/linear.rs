//! linear_lastdim and linear_tied: an affine map of the last axis.

use super::{expect_shape, last_dim, with_last};
use crate::adapter::{Pair, Place};
use crate::autograd::{Gradients, Parent};
use crate::base::{Error, Result};
use crate::buffer::Buffer;
use crate::kernels::elementwise::add_column_sums;
use crate::kernels::gemm::{Execution, Factor, gemm, matrix, matrix_mut, multiply};
use crate::listing;
use crate::message;
use crate::profile::span;
use crate::tensor::{Op, Tensor};
use ndarray::{ArrayView2, s};

/// y = x·W + b over the last axis, whatever the axes before it. The bias is optional.
///
/// # Shapes
/// `x [.., C]`, `w [C, O]`, `b [O]` to `[.., O]`. Weights are stored `[in, out]`, as the equation
/// reads; PyTorch's `nn.Linear` stores the transpose.
///
/// # Gradient
/// dx = dy·Wᵀ, dW = xᵀ·dy, db = Σ_rows dy.
///
/// # Adapter
/// Where W has a [pair](crate::adapter), u = x·A and y = x·W + s·u·B + b. Back: dB = s·uᵀ·dy, du = s·dy·Bᵀ,
/// dA = xᵀ·du, dx = dy·Wᵀ + du·Aᵀ.
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
    let reason = message!("linear_tied multiplies with the table as it is");
    Error::unless(w.adapter().is_none(), "adapter", reason)?;
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
    let wm = stored(w, [c, o], transposed);
    multiply([1.0, 0.0], xm, wm, b.map(Tensor::data), ym, work);

    let added = w.adapter().map(|pair| Added::to(&mut y, x, pair, [n, c, o], work));

    let (px, pw) = (x.parent(), w.parent());
    let pb = b.map_or_else(Parent::constant, Tensor::parent);
    let (vx, vw) = (x.detach(), w.detach());
    let mut parents = vec![px.clone(), pw.clone(), pb.clone()];
    parents.extend(added.iter().flat_map(|added| added.parents.clone()));
    let shape = with_last(x.shape(), o);
    let facts = || vec![("transposed", transposed.into()), listing::product(work)];
    let op = match &added {
        Some(_) => Op::new("adapted_linear", [x, w]),
        None => Op::new("linear", [x, w]),
    };
    let op = op.and(b).says(&facts);
    let parents: Vec<&Parent> = parents.iter().collect();
    Ok(Tensor::from_op(op, &shape, y, &parents, move |dy, grads| {
        let lift = work.precision.lift(&dy);
        let lifted = (lift != 1.0).then(|| dy.iter().map(|x| lift * x).collect::<Vec<_>>());
        let dym = matrix(lifted.as_deref().unwrap_or(&dy), n, o);
        let (xm, less) = (matrix(vx.data(), n, c), 1.0 / lift);
        grads.accumulate(&px, |dx, beta| {
            let wt = stored(&vw, [c, o], transposed).t();
            multiply([less, beta], dym, wt, None, matrix_mut(dx, n, c), work);
        });
        grads.accumulate(&pw, |dw, beta| match transposed {
            false => gemm(less, xm.t(), dym, beta, matrix_mut(dw, c, o), work),
            true => gemm(less, dym.t(), xm, beta, matrix_mut(dw, o, c), work),
        });
        grads.accumulate_zeroed(&pb, |db| add_column_sums(db, &dy));
        if let Some(added) = added {
            added.backward(dym, less, (&px, xm), grads);
        }
    }))
}

/// W `[in, out]`, which may be stored `[out, in]`.
fn stored(w: &Tensor, [c, o]: [usize; 2], transposed: bool) -> Factor<'_> {
    if transposed { w.factor([o, c]).t() } else { w.factor([c, o]) }
}

/// What an adapter has added to a product of x and W, and keeps for the way back.
struct Added {
    pair: Pair,
    /// x·A, `[n, Σ r]`.
    u: Buffer,
    /// Places of the gradients of A and B.
    parents: [Parent; 2],
    work: Execution,
}

impl Added {
    /// u = x·A;  y[:, part] ← y[:, part] + s·u·B.
    fn to(y: &mut [f32], x: &Tensor, pair: &Pair, [n, c, o]: [usize; 3], work: Execution) -> Added {
        let (all, r) = (pair.a.shape()[1], pair.b.shape()[0]);
        let mut u = Buffer::stale(n * all);
        let a = matrix(pair.a.data(), c, all);
        gemm(1.0, matrix(x.data(), n, c), a, 0.0, matrix_mut(&mut u, n, all), work);
        let (um, b) = (matrix(&u, n, all), matrix(pair.b.data(), r, o));
        let mut y = matrix_mut(y, n, o);
        for Place { ranks, columns, scale } in pair.places() {
            let b = b.slice(s![..ranks.len(), columns.clone()]);
            gemm(scale, um.slice(s![.., ranks]), b, 1.0, y.slice_mut(s![.., columns]), work);
        }
        let parents = [pair.a.parent(), pair.b.parent()];
        Added { pair: pair.detach(), u, parents, work }
    }

    /// dB = s·uᵀ·dy;  du = s·dy·Bᵀ;  dA = xᵀ·du;  dx ← dx + du·Aᵀ. What comes in as dy is
    /// that over `less`.
    fn backward(
        self,
        dy: ArrayView2<'_, f32>,
        less: f32,
        (px, x): (&Parent, ArrayView2<'_, f32>),
        grads: &mut Gradients,
    ) {
        let Added { pair, u, parents: [pa, pb], work } = self;
        let ((n, o), c, r) = (dy.dim(), x.ncols(), pair.b.shape()[0]);
        let all = pair.a.shape()[1];
        let (um, b) = (matrix(&u, n, all), matrix(pair.b.data(), r, o));
        let mut du = Buffer::stale(n * all);
        let mut dum = matrix_mut(&mut du, n, all);
        for Place { ranks, columns, scale } in pair.places() {
            let (dy, b) = (dy.slice(s![.., columns.clone()]), b.slice(s![..ranks.len(), columns]));
            gemm(scale, dy, b.t(), 0.0, dum.slice_mut(s![.., ranks]), work);
        }
        grads.accumulate_zeroed(&pb, |db| {
            let mut db = matrix_mut(db, r, o);
            for Place { ranks, columns, scale } in pair.places() {
                let db = db.slice_mut(s![..ranks.len(), columns.clone()]);
                let (u, dy) = (um.slice(s![.., ranks]), dy.slice(s![.., columns]));
                gemm(scale * less, u.t(), dy, 1.0, db, work);
            }
        });
        let dum = matrix(&du, n, all);
        grads.accumulate(&pa, |da, beta| {
            gemm(less, x.t(), dum, beta, matrix_mut(da, c, all), work);
        });
        grads.accumulate(px, |dx, beta| {
            let a = matrix(pair.a.data(), c, all);
            gemm(less, dum, a.t(), beta, matrix_mut(dx, n, c), work);
        });
    }
}
