//! Products by Accelerate, a part of macOS: only where [`engine`](super::engine) says so.
#![allow(unsafe_code)]

use super::blocked::Product;
use super::microkernel::Operand;
use super::triangle::Triangle;
use std::ffi::c_int;

/// Rows, columns and depth from which the call pays.
const LEAST: usize = 32;
/// C's names in `cblas.h`.
const ROW_MAJOR: c_int = 101;
const AS_IT_LIES: c_int = 111;
const TRANSPOSED: c_int = 112;

#[link(name = "Accelerate", kind = "framework")]
unsafe extern "C" {
    fn cblas_sgemm(
        order: c_int,
        trans_a: c_int,
        trans_b: c_int,
        m: c_int,
        n: c_int,
        k: c_int,
        alpha: f32,
        a: *const f32,
        lda: c_int,
        b: *const f32,
        ldb: c_int,
        beta: f32,
        c: *mut f32,
        ldc: c_int,
    );
}

/// The product by Accelerate; false where it is too small for it, has a triangle, or lies otherwise than it can read.
///
/// # Safety
/// As of [`Product::run`].
pub(super) unsafe fn multiply(product: &Product) -> bool {
    let Product { m, n, k, a, b, c, f, triangle } = *product;
    if m.min(n).min(k) < LEAST || triangle != Triangle::Whole {
        return false;
    }
    let sizes = [m, n, k].map(|size| c_int::try_from(size).ok());
    let (Some((trans_a, lda)), Some((trans_b, ldb)), Ok(ldc)) =
        (lies(a, m, k), lies(b, k, n), c_int::try_from(c.rs))
    else {
        return false;
    };
    let [Some(m), Some(n), Some(k)] = sizes else { return false };
    if ldc < n {
        return false;
    }
    let beta = if f.bias.is_null() { f.beta } else { 1.0 };
    // SAFETY: the caller's promise; leading dimensions were checked.
    unsafe {
        if !f.bias.is_null() {
            for row in 0..product.m {
                let row = c.ptr.wrapping_offset(c.rs.wrapping_mul(row as isize));
                std::ptr::copy_nonoverlapping(f.bias, row, product.n);
            }
        }
        cblas_sgemm(
            ROW_MAJOR, trans_a, trans_b, m, n, k, f.alpha, a.ptr, lda, b.ptr, ldb, beta, c.ptr, ldc,
        );
    }
    true
}

/// How a matrix of these rows and columns lies, and how far apart its lines are.
fn lies(x: Operand, rows: usize, columns: usize) -> Option<(c_int, c_int)> {
    let line = |apart: isize, length: usize| {
        (apart >= length as isize).then(|| c_int::try_from(apart).ok()).flatten()
    };
    if x.cs == 1 {
        return Some((AS_IT_LIES, line(x.rs, columns)?));
    }
    if x.rs == 1 { Some((TRANSPOSED, line(x.cs, rows)?)) } else { None }
}
