//! A block of B rearranged so that the tile reads it from front to back: panels of `nr` columns,
//! each k-row of a panel side by side, missing columns as zeros. A block of A is packed as its
//! transpose: panels of a tile's rows.
#![allow(unsafe_code)]

use super::bf16::number::widen;
use super::microkernel::{Operand, Packed};
use crate::kernels::simd::ask_for;
#[cfg(target_arch = "x86_64")]
use crate::kernels::simd::{Level, level};
use std::cell::RefCell;

/// A cache line: a vector that lay in two of them would be loaded twice.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "read as plain words")] [u32; 16]);

thread_local! {
    static SCRATCH: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

/// Hands out this thread's packing space for A and for B, of these numbers of words, made once and
/// kept. Each begins at a cache line.
pub(super) fn with_scratch(words: [usize; 2], f: impl FnOnce([&mut [u32]; 2])) {
    SCRATCH.with_borrow_mut(|scratch| {
        let [a, b] = words.map(|words| words.div_ceil(16));
        if scratch.len() < a + b {
            scratch.resize(a + b, Line([0; 16]));
        }
        let (a, b) = scratch.split_at_mut(a);
        // SAFETY: a line is 16 words side by side and nothing else.
        f([a, b].map(|lines| unsafe { lines.align_to_mut().1 }));
    });
}

/// What a number of B is kept as, from which the f32 is made.
pub(super) trait Number: Copy + Send + Sync {
    /// B where it lies, if its numbers are f32.
    fn in_place(b: Operand<Self>) -> Option<Operand>;

    /// `out` ← the numbers of `from`, as many.
    fn copy(from: &[Self], out: &mut [f32]);

    /// Eight rows of eight numbers, `step` apart, turned into eight of `out`, `nr` apart.
    ///
    /// # Safety
    /// There must be eight numbers behind each of the eight places.
    unsafe fn square(from: *const Self, step: isize, out: &mut [f32], nr: usize);
}

impl Number for f32 {
    fn in_place(b: Operand) -> Option<Operand> {
        Some(b)
    }

    #[inline(always)]
    fn copy(from: &[f32], out: &mut [f32]) {
        out.copy_from_slice(from);
    }

    #[inline(always)]
    unsafe fn square(from: *const f32, step: isize, out: &mut [f32], nr: usize) {
        // SAFETY: the caller's promise.
        unsafe { square(from, step, out, nr) }
    }
}

/// The 16 bits of a bf16.
impl Number for u16 {
    fn in_place(_: Operand<u16>) -> Option<Operand> {
        None
    }

    #[inline(always)]
    fn copy(from: &[u16], out: &mut [f32]) {
        out.iter_mut().zip(from).for_each(|(out, x)| *out = widen(*x));
    }

    #[inline(always)]
    unsafe fn square(from: *const u16, step: isize, out: &mut [f32], nr: usize) {
        let mut wide = [0.0; 64];
        for (i, wide) in wide.chunks_exact_mut(8).enumerate() {
            let line = from.wrapping_offset(step.wrapping_mul(i as isize));
            // SAFETY: the caller's promise.
            u16::copy(&unsafe { line.cast::<[u16; 8]>().read_unaligned() }, wide);
        }
        // SAFETY: eight rows of eight lie there, one behind the other.
        unsafe { square(wide.as_ptr(), 8, out, nr) }
    }
}

/// Rows that are asked for before they are needed.
const AHEAD: usize = 8;

/// Asks for the beginning of a row from memory: it is too short for the processor to see by itself
/// where the next will be.
fn prefetch_row<T>(row: *const T, numbers: usize) {
    let line = 64 / size_of::<T>();
    (0..numbers).step_by(line).for_each(|at| ask_for(row.wrapping_add(at)));
}

/// Packs `depth × cols` of B into panels of `nr` columns.
///
/// # Safety
/// B must have that many elements.
pub(super) unsafe fn pack<T: Number>(
    b: Operand<T>,
    depth: usize,
    cols: usize,
    nr: usize,
    out: &mut [f32],
) -> Packed {
    let panel = depth * nr;
    if b.cs == 1 {
        // Row by row of B, so that memory is read as it lies.
        for k in 0..depth {
            if k + AHEAD < depth {
                prefetch_row(b.ptr.wrapping_offset((k + AHEAD) as isize * b.rs), cols);
            }
            let start = b.ptr.wrapping_offset(k as isize * b.rs);
            // SAFETY: row k of B has `cols` columns from here.
            let row = unsafe { std::slice::from_raw_parts(start, cols) };
            match nr {
                6 => deal::<_, 6>(row, panel, &mut out[k * nr..]),
                16 => deal::<_, 16>(row, panel, &mut out[k * nr..]),
                48 => deal::<_, 48>(row, panel, &mut out[k * nr..]),
                _ => unreachable!("a panel has 16 or 48 columns, or 6 rows"),
            }
        }
    } else {
        for (p, j) in (0..cols).step_by(nr).enumerate() {
            let (width, out) = (nr.min(cols - j), &mut out[p * panel..(p + 1) * panel]);
            let b = Operand { ptr: b.ptr.wrapping_offset(j as isize * b.cs), ..b };
            // SAFETY: the columns from j on, `cs` apart.
            unsafe { gather(b, depth, width, nr, out) }
        }
    }
    Packed { ptr: out.as_ptr(), rs: nr as isize, panel }
}

/// Deals a row out to the panels, `NR` numbers to each: a length that is known needs no call.
#[inline]
fn deal<T: Number, const NR: usize>(row: &[T], panel: usize, out: &mut [f32]) {
    let (whole, rest) = row.as_chunks::<NR>();
    for (p, numbers) in whole.iter().enumerate() {
        T::copy(numbers, &mut out[p * panel..][..NR]);
    }
    if !rest.is_empty() {
        let last = &mut out[whole.len() * panel..][..NR];
        T::copy(rest, &mut last[..rest.len()]);
        last[rest.len()..].fill(0.0);
    }
}

/// Columns that lie apart, usually because B is a transposed view: each is read along k, where its
/// numbers are side by side, eight columns and eight k at a time.
///
/// # Safety
/// As [`pack`].
unsafe fn gather<T: Number>(b: Operand<T>, depth: usize, width: usize, nr: usize, out: &mut [f32]) {
    const SIDE: usize = 8;
    if width < nr {
        out.fill(0.0);
    }
    for j in (0..width).step_by(SIDE) {
        let columns = SIDE.min(width - j);
        for k in (0..depth).step_by(SIDE) {
            let rows = SIDE.min(depth - k);
            let at = |i: usize, l: usize| {
                b.ptr
                    .wrapping_offset(b.cs.wrapping_mul((j + i) as isize))
                    .wrapping_offset(b.rs.wrapping_mul((k + l) as isize))
            };
            if columns == SIDE && rows == SIDE && b.rs == 1 {
                let out = &mut out[k * nr + j..][..(SIDE - 1) * nr + SIDE];
                // SAFETY: eight numbers of each of eight columns, side by side.
                unsafe { T::square(at(0, 0), b.cs, out, nr) }
            } else {
                for l in 0..rows {
                    for i in 0..columns {
                        // SAFETY: element (k + l, j + i) of the block.
                        let number = unsafe { *at(i, l) };
                        T::copy(&[number], &mut out[(k + l) * nr + j + i..][..1]);
                    }
                }
            }
        }
    }
}

/// Eight rows of eight numbers, `step` apart, turned into eight of `out`, `nr` apart.
///
/// # Safety
/// There must be eight numbers behind each of the eight places.
unsafe fn square(from: *const f32, step: isize, out: &mut [f32], nr: usize) {
    assert!(out.len() >= 7 * nr + 8);
    #[cfg(target_arch = "x86_64")]
    if level() >= Level::Avx2 {
        // SAFETY: the level is there, and the caller's promise; the length was checked.
        return unsafe { square_avx2(from, step, out.as_mut_ptr(), nr) };
    }
    for i in 0..8 {
        // SAFETY: the caller's promise.
        let line = unsafe {
            from.wrapping_offset(step.wrapping_mul(i as isize)).cast::<[f32; 8]>().read_unaligned()
        };
        for l in 0..8 {
            out[l * nr + i] = line[l];
        }
    }
}

/// [`square`] by three rounds of exchanges: neighbours, pairs, halves.
///
/// # Safety
/// AVX must be there, and eight numbers behind each of the places that are read and written.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn square_avx2(from: *const f32, step: isize, out: *mut f32, nr: usize) {
    use std::arch::x86_64::*;
    // SAFETY: the caller's promise.
    unsafe {
        let row = |i: isize| _mm256_loadu_ps(from.wrapping_offset(step.wrapping_mul(i)));
        let r: [__m256; 8] = [row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)];
        let mut pairs = [_mm256_setzero_ps(); 8];
        for i in 0..4 {
            pairs[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
            pairs[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
        }
        let mut fours = [_mm256_setzero_ps(); 8];
        for i in [0, 4] {
            for h in 0..2 {
                let (a, b) = (pairs[i + h], pairs[i + h + 2]);
                fours[i + 2 * h] = _mm256_shuffle_ps::<0b01_00_01_00>(a, b);
                fours[i + 2 * h + 1] = _mm256_shuffle_ps::<0b11_10_11_10>(a, b);
            }
        }
        for l in 0..4 {
            _mm256_storeu_ps(
                out.wrapping_add(l * nr),
                _mm256_permute2f128_ps::<0x20>(fours[l], fours[l + 4]),
            );
            _mm256_storeu_ps(
                out.wrapping_add((l + 4) * nr),
                _mm256_permute2f128_ps::<0x31>(fours[l], fours[l + 4]),
            );
        }
    }
}
