//! The sums of aarch64's tile: 6 rows by four vectors are 24 of 32 registers.
//!
//! NEON multiplies a vector by one number of another (`fmla v.4s, v.4s, v.s[i]`), so no number of A is spread
//! over a vector: A is read four numbers at a time, along k where its rows lie together, down its
//! columns where these do. Every sum runs over k in rising order, fused, as in the other tiles.
#![allow(unsafe_code)]

use super::microkernel::Operand;
use std::arch::aarch64::*;

const LANES: usize = 4;
/// Rows of a whole tile.
const ROWS: usize = 6;

/// What the tile asks of vectors beside the instruction set's own names.
pub(super) mod names {
    pub(in super::super) use std::arch::aarch64::*;

    #[target_feature(enable = "neon")]
    #[inline]
    pub(in super::super) fn zero() -> float32x4_t {
        vdupq_n_f32(0.0)
    }

    /// a·b + c.
    #[target_feature(enable = "neon")]
    #[inline]
    pub(in super::super) fn multiply_add(
        a: float32x4_t,
        b: float32x4_t,
        c: float32x4_t,
    ) -> float32x4_t {
        vfmaq_f32(c, a, b)
    }
}

/// Σₖ aᵣₖ·bₖ of `R` rows and `V` vectors of columns.
///
/// # Safety
/// As of [`Tile`](super::microkernel::Tile).
#[target_feature(enable = "neon")]
#[inline]
pub(super) unsafe fn sums<const R: usize, const V: usize>(
    k: usize,
    a: Operand,
    b: *const f32,
    b_rs: isize,
) -> [[float32x4_t; V]; R] {
    let mut acc = [[vdupq_n_f32(0.0); V]; R];
    let mut b_k = b;
    let mut done = 0;
    // SAFETY: the caller's promise: reads of A stay inside its rows and columns, four at a time while there
    // are four; B has whole vectors.
    unsafe {
        if a.cs == 1 {
            // A pointer for every third row, as in the other tiles: the rows between are one addressing mode.
            let mut rows = [a.ptr; R];
            for q in 0..R.div_ceil(3) {
                rows[q] = a.ptr.wrapping_offset(a.rs.wrapping_mul(3 * q as isize));
            }
            while done + 4 <= k {
                let mut x = [vdupq_n_f32(0.0); R];
                for r in 0..R {
                    let row = a.rs.wrapping_mul((r % 3) as isize);
                    x[r] = vld1q_f32(rows[r / 3].wrapping_offset(row));
                }
                for q in 0..R.div_ceil(3) {
                    rows[q] = rows[q].wrapping_add(4);
                }
                b_k = along::<0, R, V>(&mut acc, b_k, b_rs, x);
                b_k = along::<1, R, V>(&mut acc, b_k, b_rs, x);
                b_k = along::<2, R, V>(&mut acc, b_k, b_rs, x);
                b_k = along::<3, R, V>(&mut acc, b_k, b_rs, x);
                done += 4;
            }
        } else if a.rs == 1 && R == ROWS {
            let mut column = a.ptr;
            while done + 2 <= k {
                b_k = down(&mut acc, b_k, b_rs, column);
                b_k = down(&mut acc, b_k, b_rs, column.wrapping_offset(a.cs));
                column = column.wrapping_offset(a.cs.wrapping_mul(2));
                done += 2;
            }
        }
        // The last few of k, and an A of any strides.
        let mut column = a.ptr.wrapping_offset(a.cs.wrapping_mul(done as isize));
        while done < k {
            for v in 0..V {
                let b = vld1q_f32(b_k.wrapping_add(v * LANES));
                for r in 0..R {
                    let x = *column.wrapping_offset(a.rs.wrapping_mul(r as isize));
                    acc[r][v] = vfmaq_n_f32(acc[r][v], b, x);
                }
            }
            column = column.wrapping_offset(a.cs);
            b_k = b_k.wrapping_offset(b_rs);
            done += 1;
        }
    }
    acc
}

/// The terms of one k: `V` vectors of B times number `L` of each row's vector. Where the next k of B is.
///
/// # Safety
/// B must have that many vectors.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn along<const L: i32, const R: usize, const V: usize>(
    acc: &mut [[float32x4_t; V]; R],
    b: *const f32,
    b_rs: isize,
    x: [float32x4_t; R],
) -> *const f32 {
    for v in 0..V {
        // SAFETY: the caller's promise.
        let b = unsafe { vld1q_f32(b.wrapping_add(v * LANES)) };
        for r in 0..R {
            acc[r][v] = vfmaq_laneq_f32::<L>(acc[r][v], b, x[r]);
        }
    }
    b.wrapping_offset(b_rs)
}

/// One k of the sums where the numbers of A lie together in a column of six.
///
/// # Safety
/// B must have that many vectors, the column six numbers.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn down<const R: usize, const V: usize>(
    acc: &mut [[float32x4_t; V]; R],
    b: *const f32,
    b_rs: isize,
    column: *const f32,
) -> *const f32 {
    // SAFETY: the caller's promise.
    let (x, y) = unsafe { (vld1q_f32(column), vld1_f32(column.wrapping_add(4))) };
    for v in 0..V {
        // SAFETY: as above.
        let b = unsafe { vld1q_f32(b.wrapping_add(v * LANES)) };
        // The remainders are of rows that this tile always has.
        acc[0][v] = vfmaq_laneq_f32::<0>(acc[0][v], b, x);
        acc[1 % R][v] = vfmaq_laneq_f32::<1>(acc[1 % R][v], b, x);
        acc[2 % R][v] = vfmaq_laneq_f32::<2>(acc[2 % R][v], b, x);
        acc[3 % R][v] = vfmaq_laneq_f32::<3>(acc[3 % R][v], b, x);
        acc[4 % R][v] = vfmaq_lane_f32::<0>(acc[4 % R][v], b, y);
        acc[5 % R][v] = vfmaq_lane_f32::<1>(acc[5 % R][v], b, y);
    }
    b.wrapping_offset(b_rs)
}
