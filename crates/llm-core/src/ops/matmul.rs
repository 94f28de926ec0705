//! matmul2d and bmm: products of two tensors.

use super::expect_shape;
use crate::base::{Error, Result};
use crate::buffer::Buffer;
use crate::kernels::gemm::{Execution, gemm, matrix, matrix_mut};
use crate::listing;
use crate::profile::span;
use crate::tensor::{Op, Tensor};

/// C = A·B.
///
/// # Shapes
/// `a [M, K]`, `b [K, N]` to `[M, N]`.
///
/// # Gradient
/// dA = dC·Bᵀ, dB = Aᵀ·dC.
///
/// # Errors
/// [`Error::Shape`] when an input is not a matrix, is empty, or the inner lengths differ;
/// [`Error::Memory`] when there is no room for the result.
pub fn matmul2d(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let [m, k] = a.dims("matmul2d", "a of shape [M, K]")?;
    let [_, n] = b.dims("matmul2d", "b of shape [K, N]")?;
    expect_shape("matmul2d", "b of shape", b, &[k, n])?;
    product(a, b, [1, m, k, n], &[m, n])
}

/// `C[i] = A[i]·B[i]` for every batch entry i.
///
/// # Shapes
/// `a [B, M, K]`, `b [B, K, N]` to `[B, M, N]`.
///
/// # Gradient
/// `dA[i] = dC[i]·B[i]ᵀ`, `dB[i] = A[i]ᵀ·dC[i]`.
///
/// # Errors
/// [`Error::Shape`] when an input has not three axes, is empty, or the lengths do not fit;
/// [`Error::Memory`] when there is no room for the result.
pub fn bmm(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let [batch, m, k] = a.dims("bmm", "a of shape [B, M, K]")?;
    let [_, _, n] = b.dims("bmm", "b of shape [B, K, N]")?;
    expect_shape("bmm", "b of shape", b, &[batch, k, n])?;
    product(a, b, [batch, m, k, n], &[batch, m, n])
}

fn product(a: &Tensor, b: &Tensor, [batch, m, k, n]: [usize; 4], dims: &[usize]) -> Result<Tensor> {
    let (_span, work) = (span("matmul"), Execution::here());
    let fits = a.numel() > 0 && b.numel() > 0;
    Error::unless_shaped(fits, "matmul", "no empty axis", a.shape())?;
    let mut c = Buffer::try_stale(batch.saturating_mul(m).saturating_mul(n))?;
    for i in 0..batch {
        let (a, b) = (entry(a.data(), i, m, k), entry(b.data(), i, k, n));
        let c = matrix_mut(&mut c[i * m * n..(i + 1) * m * n], m, n);
        gemm(1.0, a, b, 0.0, c, work);
    }
    let (pa, pb, va, vb) = (a.parent(), b.parent(), a.detach(), b.detach());
    let facts = || vec![listing::product(work)];
    let op = Op::new("matmul", [a, b]).says(&facts);
    Ok(Tensor::from_op(op, dims, c, &[&a.parent(), &b.parent()], move |dc, grads| {
        grads.accumulate(&pa, |da, beta| {
            for i in 0..batch {
                let da = matrix_mut(&mut da[i * m * k..(i + 1) * m * k], m, k);
                gemm(1.0, entry(&dc, i, m, n), entry(vb.data(), i, k, n).t(), beta, da, work);
            }
        });
        grads.accumulate(&pb, |db, beta| {
            for i in 0..batch {
                let db = matrix_mut(&mut db[i * k * n..(i + 1) * k * n], k, n);
                gemm(1.0, entry(va.data(), i, m, k).t(), entry(&dc, i, m, n), beta, db, work);
            }
        });
    }))
}

/// Matrix number `i` of a stack.
fn entry(data: &[f32], i: usize, rows: usize, cols: usize) -> ndarray::ArrayView2<'_, f32> {
    matrix(&data[i * rows * cols..(i + 1) * rows * cols], rows, cols)
}
