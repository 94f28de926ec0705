//! The innermost tile: a few rows of C times two to four vectors of columns, all of it in registers.
//!
//! For each k, `NV` vectors of B meet `MR` numbers of A, each spread over a vector: MR·NV
//! multiply-adds for MR + NV loads. How many other instructions there are matters where two
//! hardware threads share a core: 24 multiply-adds take 44 instructions in 8 rows by 3 vectors, 51
//! in 12 by 2.
//!
//! A may have any strides; B must have its columns side by side.
//! (Products of indices wrap: a check for overflow in the loop would push the sums out of the
//! registers.)
#![allow(unsafe_code)]

/// An operand inside a larger matrix: where it starts and how far apart its rows and columns are.
pub(super) struct Operand<T = f32> {
    pub(super) ptr: *const T,
    pub(super) rs: isize,
    pub(super) cs: isize,
}

impl<T> Clone for Operand<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Operand<T> {}

/// Panels of B, packed or in place.
#[derive(Clone, Copy)]
pub(super) struct Packed {
    pub(super) ptr: *const f32,
    /// From one k to the next inside a panel.
    pub(super) rs: isize,
    /// From one panel to the next.
    pub(super) panel: usize,
}

impl Packed {
    /// B as it lies: its columns are side by side already.
    pub(super) fn in_place(b: Operand, nr: usize) -> Packed {
        Packed { ptr: b.ptr, rs: b.rs, panel: nr }
    }

    #[inline(always)]
    pub(super) fn panel(&self, index: usize) -> *const f32 {
        self.ptr.wrapping_add(index * self.panel)
    }

    /// The same panels without their first rows.
    pub(super) fn deeper(self, rows: usize) -> Packed {
        Packed { ptr: self.ptr.wrapping_offset(self.rs * rows as isize), ..self }
    }
}

/// C, row-major: columns lie together.
#[derive(Clone, Copy)]
pub(super) struct Output {
    pub(super) ptr: *mut f32,
    pub(super) rs: isize,
}

/// What happens to the products: C ← alpha·(sum + bias) + beta·C.
#[derive(Clone, Copy)]
pub(super) struct Factors {
    pub(super) alpha: f32,
    pub(super) beta: f32,
    /// One number for each column; null for none.
    pub(super) bias: *const f32,
}

/// One instruction set's function: a strip of `rows ≤ MR` rows of C, tile by tile. What is done once for a
/// strip is not done for each of its tiles, which are short where k is.
///
/// # Safety
/// The instruction set must be there; `a` must have `rows × k` elements, `b` (columns together)
/// panels of `k` rows of whole vectors that cover `cols`, `c` `rows × cols` that no other thread touches,
/// `f.bias` (unless null) `cols`.
pub(super) type Strip =
    unsafe fn(rows: usize, cols: usize, k: usize, a: Operand, b: Packed, c: Output, f: Factors);

/// Σₖ aᵣₖ·bₖ of `MR` rows and `NV` vectors of columns, over k in rising order. A macro for three, since
/// loops around them are unrolled only where the names are the instruction set's own.
macro_rules! sums {
    ([$($features:literal)?], $vector:ty, $lanes:literal, $zero:ident, $load:ident, $set1:ident, $fma:ident) => {
        /// The sums of a tile.
        ///
        /// # Safety
        /// As of [`Strip`](super::Strip).
        $(#[target_feature(enable = $features)])?
        #[inline]
        unsafe fn sums<const MR: usize, const NV: usize>(
            k: usize,
            a: Operand,
            b: *const f32,
            b_rs: isize,
        ) -> [[$vector; NV]; MR] {
            let mut acc = [[$zero(); NV]; MR];
            // A pointer for every third row: base, base + rs and base + 2·rs are one
            // addressing mode each. One pointer for all rows would be moved row by row,
            // a chain of additions as long as the multiplications take.
            let mut a_k = [a.ptr; 3];
            for q in 0..MR.div_ceil(3) {
                a_k[q] = a.ptr.wrapping_offset(a.rs.wrapping_mul(3 * q as isize));
            }
            let mut b_k = b;
            for _ in 0..k {
                // SAFETY: the caller's promise: row k of B, number k of each row of A.
                unsafe {
                    let mut row = [$zero(); NV];
                    for v in 0..NV {
                        row[v] = $load(b_k.add(v * $lanes));
                    }
                    for r in 0..MR {
                        let x = $set1(*a_k[r / 3].wrapping_offset(a.rs.wrapping_mul((r % 3) as isize)));
                        for v in 0..NV {
                            acc[r][v] = $fma(x, row[v], acc[r][v]);
                        }
                    }
                }
                for q in 0..MR.div_ceil(3) {
                    a_k[q] = a_k[q].wrapping_offset(a.cs);
                }
                b_k = b_k.wrapping_offset(b_rs);
            }
            acc
        }
    };
}

macro_rules! tile {
    ($name:ident, $($names:ident)::+, [$($features:literal)?], $fused:literal, $vector:ty, $lanes:literal, $zero:ident, $load:ident, $store:ident, $set1:ident, $fma:ident, $mul:ident, $add:ident, $sums:tt, [$($rows:literal)+] [$($vectors:literal)+]) => {
        pub(super) mod $name {
            use super::{Factors, Operand, Output, Packed};
            use crate::kernels::simd::{ask_for, fma};
            use $($names)::+::*;

            /// Columns of a vector.
            const LANES: usize = $lanes;

            tile!(@sums $sums [$($features)?], $vector, $lanes, $zero, $load, $set1, $fma);

            /// A vector that begins with `cols` numbers. On its own, as is what follows: the loops
            /// around them are to be short enough to be unrolled, so that the sums stay in
            /// registers.
            ///
            /// # Safety
            /// There must be `cols` numbers, fewer than a vector's.
            $(#[target_feature(enable = $features)])?
            #[inline(never)]
            unsafe fn few(from: *const f32, cols: usize) -> $vector {
                let mut lanes = [0.0f32; LANES];
                // SAFETY: the caller's promise.
                unsafe {
                    from.copy_to(lanes.as_mut_ptr(), cols);
                    $load(lanes.as_ptr())
                }
            }

            /// The first columns of a vector of C.
            ///
            /// # Safety
            /// C must have that many columns, fewer than a vector's.
            $(#[target_feature(enable = $features)])?
            #[inline(never)]
            unsafe fn some(c: *mut f32, sum: $vector, cols: usize, beta: f32) {
                let mut lanes = [0.0f32; LANES];
                // SAFETY: as many lanes as the vector has, and the caller's promise.
                unsafe {
                    $store(lanes.as_mut_ptr(), sum);
                    for (i, x) in lanes[..cols].iter().enumerate() {
                        let old = if beta == 0.0 { 0.0 } else { *c.add(i) };
                        *c.add(i) = fma::<$fused>(beta, old, *x);
                    }
                }
            }

            $(#[target_feature(enable = $features)])?
            #[inline(never)]
            unsafe fn fixed<const MR: usize, const NV: usize>(
                cols: usize, k: usize, a: Operand, b: *const f32, b_rs: isize, c: Output, f: Factors,
            ) {
                // SAFETY: the caller's promise, see `Strip`; every access below is within it.
                unsafe {
                    if f.beta != 0.0 {
                        // What is there already is fetched while the sums grow.
                        for r in 0..MR {
                            let row = c.ptr.wrapping_offset(c.rs.wrapping_mul(r as isize));
                            for v in 0..NV {
                                ask_for(row.wrapping_add(v * LANES));
                            }
                        }
                    }
                    let mut acc = sums::<MR, NV>(k, a, b, b_rs);
                    // Only the last vector may have columns too many.
                    let whole = cols == NV * LANES;
                    if !f.bias.is_null() {
                        for v in 0..NV {
                            let bias = f.bias.add(v * LANES);
                            let bias = if v + 1 < NV || whole { $load(bias) } else { few(bias, cols - v * LANES) };
                            for r in 0..MR {
                                acc[r][v] = $add(acc[r][v], bias);
                            }
                        }
                    }
                    let alpha = $set1(f.alpha);
                    for r in 0..MR {
                        let c_row = c.ptr.wrapping_offset(c.rs.wrapping_mul(r as isize));
                        for v in 0..NV {
                            let (sum, c) = ($mul(alpha, acc[r][v]), c_row.add(v * LANES));
                            if v + 1 < NV || whole {
                                let old = if f.beta == 0.0 { $zero() } else { $load(c) };
                                $store(c, $fma($set1(f.beta), old, sum));
                            } else {
                                some(c, sum, cols - v * LANES, f.beta);
                            }
                        }
                    }
                }
            }

            /// A strip of as many rows as a tile may have.
            ///
            /// # Safety
            /// As of [`Strip`](super::Strip).
            $(#[target_feature(enable = $features)])?
            #[inline(never)]
            unsafe fn tiles<const MR: usize>(cols: usize, k: usize, a: Operand, b: Packed, c: Output, f: Factors) {
                const WIDE: usize = LANES * [$($vectors),+].len();
                for (panel, j) in (0..cols).step_by(WIDE).enumerate() {
                    let here = WIDE.min(cols - j);
                    let (b_k, c) = (b.panel(panel), Output { ptr: c.ptr.wrapping_add(j), ..c });
                    let bias = if f.bias.is_null() { f.bias } else { f.bias.wrapping_add(j) };
                    let f = Factors { bias, ..f };
                    // SAFETY: the caller's promise: the tile lies inside the strip.
                    unsafe {
                        match here.div_ceil(LANES) {
                            $($vectors => fixed::<MR, $vectors>(here, k, a, b_k, b.rs, c, f),)+
                            _ => unreachable!("a tile has 1 to NV vectors"),
                        }
                    }
                }
            }

            /// See [`Strip`](super::Strip).
            ///
            /// # Safety
            /// As of [`Strip`](super::Strip).
            $(#[target_feature(enable = $features)])?
            pub(in super::super) unsafe fn strip(
                rows: usize, cols: usize, k: usize, a: Operand, b: Packed, c: Output, f: Factors,
            ) {
                // SAFETY: the caller's promise.
                unsafe {
                    match rows {
                        $($rows => tiles::<$rows>(cols, k, a, b, c, f),)+
                        _ => unreachable!("a strip has 1 to MR rows"),
                    }
                }
            }
        }
    };
    (@sums spread [$($features:literal)?], $vector:ty, $lanes:literal, $zero:ident, $load:ident, $set1:ident, $fma:ident) => {
        sums!([$($features)?], $vector, $lanes, $zero, $load, $set1, $fma);
    };
    (@sums by_lane $($rest:tt)*) => {
        use super::super::neon::sums;
    };
}

#[cfg(target_arch = "x86_64")]
tile!(
    avx512, std::arch::x86_64, ["avx512f,fma"], true, __m512, 16, _mm512_setzero_ps, _mm512_loadu_ps, _mm512_storeu_ps,
    _mm512_set1_ps, _mm512_fmadd_ps, _mm512_mul_ps, _mm512_add_ps, spread, [1 2 3 4 5 6 7 8] [1 2 3]
);
#[cfg(target_arch = "x86_64")]
tile!(
    avx2, std::arch::x86_64, ["avx2,fma"], true, __m256, 8, _mm256_setzero_ps, _mm256_loadu_ps, _mm256_storeu_ps,
    _mm256_set1_ps, _mm256_fmadd_ps, _mm256_mul_ps, _mm256_add_ps, spread, [1 2 3 4 5 6] [1 2]
);
#[cfg(target_arch = "aarch64")]
tile!(
    neon, super::super::neon::names, ["neon"], true, float32x4_t, 4, zero, vld1q_f32, vst1q_f32, vdupq_n_f32,
    multiply_add, vmulq_f32, vaddq_f32, by_lane, [1 2 3 4 5 6] [1 2 3 4]
);
tile!(
    plain, super::super::plain, [], false, Four, 4, zero, load, store, splat, multiply_add, mul, add, spread,
    [1 2] [1 2 3 4]
);
