//! The unit of x86-64 processors that have `avx512bf16`.
#![allow(unsafe_code)]

use super::number::pair;
use super::pack::pack_a;
use super::sizes::{NR, WIDE, Words};
use super::unit::{Factors, Part, Unit};
use ndarray::ArrayViewMut2;
use std::arch::x86_64::*;
use std::mem::transmute;

/// The processor's own. Only where [`is_there`] says so.
pub(super) struct Avx512;

/// Whether this processor has the unit.
pub(super) fn is_there() -> bool {
    is_x86_feature_detected!("avx512bf16")
}

/// Rows of a tile: with two vectors of columns, all but eight registers hold sums.
const MR: usize = 12;

impl Unit for Avx512 {
    const ROWS: usize = MR;
    const PAIRS: usize = 1;

    fn pack_a(a: Part<'_>, out: &mut [u32]) -> Words {
        pack_a::<Self>(a, out)
    }

    fn along(x: &[f32], out: &mut [u32]) {
        assert!(out.len() == x.len().div_ceil(2));
        // SAFETY: this unit is only chosen where it is there; the lengths were checked.
        unsafe { along(x, out) }
    }

    fn across(first: &[f32], second: &[f32], out: &mut [u32]) {
        assert!(out.len() >= first.len() && (second.is_empty() || second.len() == first.len()));
        // SAFETY: as above.
        unsafe { across(first, second, out) }
    }

    fn turned(lines: [&[f32]; WIDE], out: &mut [u32]) {
        let depth = lines[0].len();
        assert!(lines.iter().all(|line| line.is_empty() || line.len() == depth));
        assert!(out.len() >= depth.div_ceil(2).saturating_sub(1) * NR + WIDE || depth == 0);
        // SAFETY: as above.
        unsafe { turned(lines, depth, out) }
    }

    fn tile(a: &[u32], words: Words, b: &[u32], c: ArrayViewMut2<'_, f32>, factors: Factors<'_>) {
        let ((rows, cols), pairs) = (c.dim(), b.len() / NR);
        assert!(
            (1..=MR).contains(&rows)
                && (1..=NR).contains(&cols)
                && (c.strides()[1] == 1 || cols == 1)
        );
        assert!(a.len() > (rows - 1) * words.row + pairs.saturating_sub(1) * words.step);
        assert!(factors.bias.is_empty() || factors.bias.len() >= cols);
        // SAFETY: as above.
        unsafe {
            match rows {
                1 => fixed::<1>(a, words, b, c, factors),
                2 => fixed::<2>(a, words, b, c, factors),
                3 => fixed::<3>(a, words, b, c, factors),
                4 => fixed::<4>(a, words, b, c, factors),
                5 => fixed::<5>(a, words, b, c, factors),
                6 => fixed::<6>(a, words, b, c, factors),
                7 => fixed::<7>(a, words, b, c, factors),
                8 => fixed::<8>(a, words, b, c, factors),
                9 => fixed::<9>(a, words, b, c, factors),
                10 => fixed::<10>(a, words, b, c, factors),
                11 => fixed::<11>(a, words, b, c, factors),
                _ => fixed::<12>(a, words, b, c, factors),
            }
        }
    }
}

/// 32 numbers, pair by pair.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
#[inline]
unsafe fn neighbours(x: *const f32) -> __m512i {
    // SAFETY: the caller has 32 numbers; the types have the same size.
    unsafe {
        transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(
            _mm512_loadu_ps(x.add(WIDE)),
            _mm512_loadu_ps(x),
        ))
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn along(x: &[f32], out: &mut [u32]) {
    let whole = x.len() / (2 * WIDE);
    for i in 0..whole {
        // SAFETY: chunk i lies in x, its pairs in out.
        unsafe {
            let words = neighbours(x.as_ptr().add(i * 2 * WIDE));
            _mm512_storeu_si512(out.as_mut_ptr().add(i * WIDE).cast(), words);
        }
    }
    for (out, x) in out[whole * WIDE..].iter_mut().zip(x[whole * 2 * WIDE..].chunks(2)) {
        *out = pair(x[0], x.get(1).copied().unwrap_or(0.0));
    }
}

/// Where the numbers of two halves go that are to lie alternately.
const ALTERNATELY: [u16; 32] = {
    let mut places = [0; 32];
    let mut i = 0;
    while i < 32 {
        places[i] = (i as u16 >> 1) + if i % 2 == 1 { 16 } else { 0 };
        i += 1;
    }
    places
};

#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub(super) unsafe fn across(first: &[f32], second: &[f32], out: &mut [u32]) {
    // SAFETY: masked numbers are neither read nor written; the types have the same size.
    unsafe {
        let places = transmute::<[u16; 32], __m512i>(ALTERNATELY);
        for from in (0..out.len()).step_by(WIDE) {
            let here = mask(first.len().saturating_sub(from));
            let low = _mm512_maskz_loadu_ps(here, first.as_ptr().wrapping_add(from));
            let high = match second.is_empty() {
                true => _mm512_setzero_ps(),
                false => _mm512_maskz_loadu_ps(here, second.as_ptr().wrapping_add(from)),
            };
            let both = transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(high, low));
            let words = _mm512_permutexvar_epi16(places, both);
            let room = mask(out.len() - from);
            _mm512_mask_storeu_epi32(out.as_mut_ptr().add(from).cast(), room, words);
        }
    }
}

/// The first `n` of 16 lanes.
pub(super) fn mask(n: usize) -> __mmask16 {
    if n >= WIDE { !0 } else { (1 << n) - 1 }
}

#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn turned(lines: [&[f32]; WIDE], depth: usize, out: &mut [u32]) {
    let whole = depth / (2 * WIDE);
    for block in 0..whole {
        let mut words = [_mm512_setzero_si512(); WIDE];
        for (line, words) in lines.iter().zip(&mut words) {
            if !line.is_empty() {
                // SAFETY: a line has `depth` numbers.
                *words = unsafe { neighbours(line.as_ptr().add(block * 2 * WIDE)) };
            }
        }
        transpose(&mut words);
        for (q, words) in words.into_iter().enumerate() {
            // SAFETY: the caller has checked that there is room for all pairs.
            unsafe {
                let to = out.as_mut_ptr().add((block * WIDE + q) * NR);
                _mm512_storeu_si512(to.cast(), words);
            }
        }
    }
    for q in whole * WIDE..depth.div_ceil(2) {
        for (i, line) in lines.iter().enumerate() {
            let at = |k: usize| line.get(k).copied().unwrap_or(0.0);
            out[q * NR + i] = pair(at(2 * q), at(2 * q + 1));
        }
    }
}

/// Word j of vector i changes places with word i of vector j.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn transpose(x: &mut [__m512i; WIDE]) {
    // Words, then pairs of words, inside each of four quarters; then the quarters.
    let mut y = [_mm512_setzero_si512(); WIDE];
    for i in 0..WIDE / 2 {
        y[2 * i] = _mm512_unpacklo_epi32(x[2 * i], x[2 * i + 1]);
        y[2 * i + 1] = _mm512_unpackhi_epi32(x[2 * i], x[2 * i + 1]);
    }
    for i in 0..WIDE / 4 {
        x[4 * i] = _mm512_unpacklo_epi64(y[4 * i], y[4 * i + 2]);
        x[4 * i + 1] = _mm512_unpackhi_epi64(y[4 * i], y[4 * i + 2]);
        x[4 * i + 2] = _mm512_unpacklo_epi64(y[4 * i + 1], y[4 * i + 3]);
        x[4 * i + 3] = _mm512_unpackhi_epi64(y[4 * i + 1], y[4 * i + 3]);
    }
    for i in 0..4 {
        y[i] = _mm512_shuffle_i32x4::<0x88>(x[i], x[4 + i]);
        y[4 + i] = _mm512_shuffle_i32x4::<0xdd>(x[i], x[4 + i]);
        y[8 + i] = _mm512_shuffle_i32x4::<0x88>(x[8 + i], x[12 + i]);
        y[12 + i] = _mm512_shuffle_i32x4::<0xdd>(x[8 + i], x[12 + i]);
    }
    for i in 0..4 {
        x[i] = _mm512_shuffle_i32x4::<0x88>(y[i], y[8 + i]);
        x[8 + i] = _mm512_shuffle_i32x4::<0xdd>(y[i], y[8 + i]);
        x[4 + i] = _mm512_shuffle_i32x4::<0x88>(y[4 + i], y[12 + i]);
        x[12 + i] = _mm512_shuffle_i32x4::<0xdd>(y[4 + i], y[12 + i]);
    }
}

/// A tile of R rows and up to two vectors of columns: all sums in registers.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn fixed<const R: usize>(
    a: &[u32],
    words: Words,
    b: &[u32],
    mut c: ArrayViewMut2<'_, f32>,
    factors: Factors<'_>,
) {
    // SAFETY: `Avx512::tile` has checked that a, b, c and the bias are as large as they are used.
    unsafe {
        let (start, stride, cols) = (c.as_mut_ptr(), c.strides()[0], c.ncols());
        // The tile's place in C is fetched while its sums grow.
        for r in 0..R {
            let row = start.wrapping_offset(stride.wrapping_mul(r as isize)).cast::<i8>();
            _mm_prefetch::<_MM_HINT_ET0>(row);
            _mm_prefetch::<_MM_HINT_ET0>(row.wrapping_add(64));
        }
        let mut sums = [[_mm512_setzero_ps(); 2]; R];
        // A pointer for every third row, as in the f32 tile.
        let mut rows = [a.as_ptr(); 4];
        for (i, row) in rows.iter_mut().enumerate() {
            *row = row.wrapping_add(words.row.wrapping_mul(3 * i));
        }
        let mut b_q = b.as_ptr();
        for _ in 0..b.len() / NR {
            let b = [0, WIDE].map(|from| {
                transmute::<__m512i, __m512bh>(_mm512_loadu_si512(b_q.add(from).cast()))
            });
            for (r, sums) in sums.iter_mut().enumerate() {
                let word = *rows[r / 3].wrapping_add(words.row.wrapping_mul(r % 3));
                let word = transmute::<__m512i, __m512bh>(_mm512_set1_epi32(word.cast_signed()));
                sums[0] = _mm512_dpbf16_ps(sums[0], word, b[0]);
                sums[1] = _mm512_dpbf16_ps(sums[1], word, b[1]);
            }
            for row in &mut rows {
                *row = row.wrapping_add(words.step);
            }
            b_q = b_q.add(NR);
        }
        for v in 0..2 {
            let here = mask(cols.saturating_sub(v * WIDE));
            if here == 0 {
                break;
            }
            for (r, sums) in sums.iter().enumerate() {
                let c = start.wrapping_offset(stride.wrapping_mul(r as isize));
                finish(sums[v], c, v * WIDE, here, &factors);
            }
        }
    }
}

/// A vector of sums into C, `at` columns from `row` on, those of the mask.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) unsafe fn finish(
    sum: __m512,
    row: *mut f32,
    at: usize,
    here: __mmask16,
    factors: &Factors<'_>,
) {
    let c = row.wrapping_add(at);
    // SAFETY: the caller has these columns of C, and of the bias if there is one.
    unsafe {
        let sum = match factors.bias.is_empty() {
            true => sum,
            false => _mm512_add_ps(sum, _mm512_maskz_loadu_ps(here, factors.bias.as_ptr().add(at))),
        };
        let mut new = _mm512_mul_ps(_mm512_set1_ps(factors.alpha), sum);
        if factors.beta != 0.0 {
            let old = _mm512_maskz_loadu_ps(here, c);
            new = _mm512_add_ps(new, _mm512_mul_ps(_mm512_set1_ps(factors.beta), old));
        }
        _mm512_mask_storeu_ps(c, here, new);
    }
}
