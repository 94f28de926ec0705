//! Products of whole numbers by aarch64's `udot` and `sdot`: four products of bytes in each lane at once, where the
//! processor has them (every Apple silicon, Graviton 2 and later). The same whole numbers as by pairs.
//!
//! An input m has 16 bits: m = 256·h + l, h with a sign and l without. So
//!
//! ```text
//! Σ m·n − z·Σ m = 256·Σ h·n + Σ l·n − z·Σ m
//! ```
//!
//! and a word with four neighbours of one output is what a lane takes. `sdot` takes n with a sign: a byte of q8 as n − 128.
#![allow(unsafe_code)]

use super::block::WIDTH;
use super::matrix::{AHEAD, Line};
use crate::kernels::math::LANES;
use crate::kernels::simd::{level, prefetch};
use std::arch::aarch64::*;
use std::arch::{asm, is_aarch64_feature_detected};

/// Whether the level in use may have them and the processor does.
pub(super) fn are_there() -> bool {
    level().is_fused() && is_aarch64_feature_detected!("dotprod")
}

/// 32 inputs as bytes, in the order in which those of the words come.
#[derive(Clone)]
pub(super) struct Bytes {
    low: [u8; WIDTH],
    high: [i8; WIDTH],
    /// What all sums begin with: −z·Σ m, and for q8 what `high` met too little.
    start: i32,
}

impl Bytes {
    /// The bytes of inputs of 16 bits, for words with numbers of `BITS` bits.
    #[inline(always)]
    pub(super) fn new<const BITS: usize>(steps: &[i32; WIDTH]) -> Bytes {
        // A word of q4 gives its even numbers first, then its odd ones.
        let place = |i: usize| if BITS == 8 { i } else { i / 8 * 8 + i % 4 * 2 + i % 8 / 4 };
        let of = |i: usize| steps[place(i)];
        let high: [i8; WIDTH] = std::array::from_fn(|i| (of(i) >> 8) as i8);
        let missed =
            if BITS == 8 { high.iter().map(|&h| i32::from(h)).sum::<i32>() << 15 } else { 0 };
        let total: i32 = steps.iter().sum();
        let low = std::array::from_fn(|i| of(i) as u8);
        Bytes { low, high, start: missed - (total << (BITS - 1)) }
    }
}

macro_rules! dot {
    ($name:ident) => {
        /// Four sums, each with four more products of bytes: those of `n` with four of `x`.
        #[target_feature(enable = "dotprod")]
        #[inline]
        fn $name<const FOUR: usize>(sums: int32x4_t, n: uint8x16_t, x: uint8x16_t) -> int32x4_t {
            let mut sums = sums;
            // SAFETY: one instruction on registers, which the feature brings.
            unsafe {
                asm!(
                    concat!(stringify!($name), " {sums:v}.4s, {n:v}.16b, {x:v}.4b[{four}]"),
                    sums = inout(vreg) sums, n = in(vreg) n, x = in(vreg_low16) x, four = const FOUR,
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            sums
        }
    };
}
dot!(udot);
dot!(sdot);

/// Σ m·(n − z) of 32 inputs, for 16 outputs.
#[target_feature(enable = "neon,dotprod")]
#[inline]
pub(super) fn block<const BITS: usize>(x: &Bytes, lines: &[Line]) -> [i32; LANES] {
    // SAFETY: 32 bytes each.
    let (low, high) = unsafe { (vld1q_u8_x2(x.low.as_ptr()), vld1q_u8_x2(x.high.as_ptr().cast())) };
    let ([l0, l1], [h0, h1]) = ([low.0, low.1], [high.0, high.1]);
    let zero = vdupq_n_s32(0);
    let (mut of_low, mut of_high) = ([zero; 4], [zero; 4]);
    macro_rules! line {
        ($j:literal, $low:ident, $high:ident, $($four:literal)+) => {
            prefetch(&lines[$j].0, AHEAD);
            for v in 0..4 {
                // SAFETY: 16 of the line's 64 bytes.
                let n = unsafe { vld1q_u8(lines[$j].0.as_ptr().add(4 * v).cast()) };
                line!(@products v, n, $low, $high, $($four)+);
            }
        };
        (@products $v:ident, $n:ident, $low:ident, $high:ident, $four:literal) => {
            of_low[$v] = udot::<$four>(of_low[$v], $n, $low);
            of_high[$v] = sdot::<$four>(of_high[$v], veorq_u8($n, vdupq_n_u8(0x80)), $high);
        };
        (@products $v:ident, $n:ident, $low:ident, $high:ident, $even:literal $odd:literal) => {
            let (even, odd) = (vandq_u8($n, vdupq_n_u8(15)), vshrq_n_u8::<4>($n));
            of_low[$v] = udot::<$even>(of_low[$v], even, $low);
            of_high[$v] = sdot::<$even>(of_high[$v], even, $high);
            of_low[$v] = udot::<$odd>(of_low[$v], odd, $low);
            of_high[$v] = sdot::<$odd>(of_high[$v], odd, $high);
        };
    }
    if BITS == 8 {
        line!(0, l0, h0, 0);
        line!(1, l0, h0, 1);
        line!(2, l0, h0, 2);
        line!(3, l0, h0, 3);
        line!(4, l1, h1, 0);
        line!(5, l1, h1, 1);
        line!(6, l1, h1, 2);
        line!(7, l1, h1, 3);
    } else {
        line!(0, l0, h0, 0 1);
        line!(1, l0, h0, 2 3);
        line!(2, l1, h1, 0 1);
        line!(3, l1, h1, 2 3);
    }
    let mut whole = [0; LANES];
    for v in 0..4 {
        let sum = vaddq_s32(vshlq_n_s32::<8>(of_high[v]), of_low[v]);
        // SAFETY: four of the 16.
        unsafe { vst1q_s32(whole.as_mut_ptr().add(4 * v), vaddq_s32(sum, vdupq_n_s32(x.start))) };
    }
    whole
}
