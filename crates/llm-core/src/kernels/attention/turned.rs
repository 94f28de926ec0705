//! A head turned over, so that its products with others read it along its rows.

use super::super::math::LANES;
use super::super::simd::simd_kernel;
use super::views::row;
use crate::buffer::Buffer;
use ndarray::ArrayView2;

/// `x [T, D]` as `[D, T]`, its rows [`row_stride`] apart: turned over once for a head, not once for
/// each of its blocks.
pub(super) fn transposed(x: ArrayView2<'_, f32>) -> Buffer {
    let (t, d) = x.dim();
    let stride = row_stride(t);
    let mut out = Buffer::stale(stride * d);
    let mut first = 0;
    while first + SIDE <= t {
        turn_rows(&mut out, stride, first, std::array::from_fn(|i| row(&x, first + i)));
        first += SIDE;
    }
    for i in first..t {
        row(&x, i).iter().enumerate().for_each(|(c, x)| out[c * stride + i] = *x);
    }
    out
}

/// Numbers from one row of a transposed head to the next: no power of two, or all rows would want
/// the same few places of the cache.
pub(super) fn row_stride(t: usize) -> usize {
    t.next_multiple_of(LANES) + LANES
}

/// Rows that are turned over together: squares of this size stay in registers.
const SIDE: usize = 8;

simd_kernel! {
    /// Columns `first..first + SIDE` of `out [D, stride]` ← these rows.
    fn turn_rows(out: &mut [f32], stride: usize, first: usize, rows: [&[f32]; SIDE]) {
        let d = rows[0].len();
        let rows = rows.map(|row| row[..d].as_chunks::<SIDE>());
        for block in 0..d / SIDE {
            let square: [[f32; SIDE]; SIDE] = std::array::from_fn(|i| rows[i].0[block]);
            for c in 0..SIDE {
                let line: [f32; SIDE] = std::array::from_fn(|i| square[i][c]);
                out[(block * SIDE + c) * stride + first..][..SIDE].copy_from_slice(&line);
            }
        }
        for c in 0..d % SIDE {
            let line: [f32; SIDE] = std::array::from_fn(|i| rows[i].1[c]);
            out[(d - d % SIDE + c) * stride + first..][..SIDE].copy_from_slice(&line);
        }
    }
}
