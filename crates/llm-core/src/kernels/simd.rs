//! One kernel body, compiled for several instruction sets, chosen at run time.
//!
//! Kernels are plain loops that the compiler vectorises, with few instructions by name. `simd_kernel!` makes a copy of the
//! body for each [`Level`] of the build's target. The first call asks the processor which one it can run. One
//! binary therefore fits every machine, and `-C target-cpu=native` gains nothing.
//!
//! Reductions keep sixteen partial results and sums one order at every width of vectors, so all levels
//! with fused multiply-add give the same bits ([`Level::is_fused`]), and so do all machines at
//! `portable`, which rounds twice.
//!
//! The environment variable `LLM_KERNELS` lowers the choice, for tests and measurements. Built without the
//! feature `avx512`, that level is never chosen.

use crate::base::choices;
use std::sync::OnceLock;

/// An instruction set that kernels are compiled for, from the most general up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What every target has: a multiplication, then an addition.
    Portable,
    /// 128-bit vectors with fused multiply-add: aarch64.
    Neon,
    /// 256-bit vectors with fused multiply-add: x86-64.
    Avx2,
    /// 512-bit vectors with fused multiply-add: x86-64.
    Avx512,
}

choices!(Level, Portable = "portable", Neon = "neon", Avx2 = "avx2", Avx512 = "avx512");

impl Level {
    /// The levels that there are copies of kernels for in this build.
    #[cfg(target_arch = "x86_64")]
    pub const HERE: &[Level] = &[Level::Portable, Level::Avx2, Level::Avx512];
    /// The levels that there are copies of kernels for in this build.
    #[cfg(target_arch = "aarch64")]
    pub const HERE: &[Level] = &[Level::Portable, Level::Neon];
    /// The levels that there are copies of kernels for in this build.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub const HERE: &[Level] = &[Level::Portable];

    /// Whether `a·b + c` is rounded once. All levels of which this is true give the same bits.
    pub fn is_fused(self) -> bool {
        self != Level::Portable
    }
}

static LEVEL: OnceLock<Level> = OnceLock::new();

/// The level in use: [`available`], unless [`at_most`] came first.
pub fn level() -> Level {
    *LEVEL.get_or_init(available)
}

/// What the processor has, lowered by `LLM_KERNELS` if that names a level of this build.
pub fn available() -> Level {
    let wanted = std::env::var("LLM_KERNELS").unwrap_or_default();
    let wanted = Level::HERE.iter().find(|level| level.name() == wanted);
    wanted.map_or(detected(), |wanted| detected().min(*wanted))
}

/// Uses this level where a higher one is available, from now on, and says which one is in use: for
/// machines that are to compute the same bits. Too late when a kernel has run already.
pub fn at_most(most: Level) -> Level {
    *LEVEL.get_or_init(|| available().min(most))
}

#[cfg(target_arch = "x86_64")]
fn detected() -> Level {
    let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    let avx512 = cfg!(feature = "avx512")
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512bw");
    match (avx2, avx512) {
        (true, true) => Level::Avx512,
        (true, false) => Level::Avx2,
        _ => Level::Portable,
    }
}

/// NEON is a part of aarch64.
#[cfg(not(target_arch = "x86_64"))]
fn detected() -> Level {
    if cfg!(target_arch = "aarch64") { Level::Neon } else { Level::Portable }
}

/// `a·b + c`, fused where the kernel's instruction set can.
///
/// Without the hardware instruction `f32::mul_add` is a library call, hundreds of times slower:
/// so the body's constant `FMA` decides.
#[inline(always)]
pub(crate) fn fma<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// sₗ ← sₗ + w·x + w'·x' for each lane's word, its lower half w and upper half w' as whole numbers with a
/// sign; what leaves 32 bits wraps. One instruction and an addition where AVX2 is there: only for the body of
/// a `simd_kernel!`, with its constant `FMA`.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn add_pairs<const FMA: bool, const N: usize>(
    s: &mut [i32; N],
    words: [u32; N],
    x: [i16; 2],
) {
    #[cfg(target_arch = "x86_64")]
    if FMA {
        use std::arch::x86_64::*;
        const { assert!(N.is_multiple_of(8)) };
        debug_assert!(level() >= Level::Avx2);
        let pair = i32::from(x[1]) << 16 | i32::from(x[0] as u16);
        for (s, words) in s.as_chunks_mut::<8>().0.iter_mut().zip(words.as_chunks::<8>().0) {
            // SAFETY: on x86-64 `FMA` is true in copies for AVX2 and AVX-512 alone; the pointers are
            // those of eight words.
            unsafe {
                let words = _mm256_loadu_si256(words.as_ptr().cast());
                let two = _mm256_madd_epi16(words, _mm256_set1_epi32(pair));
                let sum = _mm256_add_epi32(_mm256_loadu_si256(s.as_ptr().cast()), two);
                _mm256_storeu_si256(s.as_mut_ptr().cast(), sum);
            }
        }
        return;
    }
    for (s, word) in s.iter_mut().zip(words) {
        let two = [word as i16, (word >> 16) as i16].map(i32::from);
        let two = two[0].wrapping_mul(x[0].into()).wrapping_add(two[1].wrapping_mul(x[1].into()));
        *s = s.wrapping_add(two);
    }
}

/// Asks for the cache line `ahead` numbers after the beginning of `x`, which may lie outside: a
/// processor's own guess stops at the end of a page of memory.
#[inline(always)]
pub(crate) fn prefetch<T>(x: &[T], ahead: usize) {
    ask_for(x.as_ptr().wrapping_add(ahead));
}

/// Asks for a cache line, wherever it may lie. A hint: elsewhere than on x86-64 it does nothing.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn ask_for<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: no address can make it fail, and SSE is part of x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Defines a function whose body is compiled once per [`Level`] and dispatched at run time.
/// Inside the body the constant `FMA` says whether fused multiply-add is cheap. The function may have a
/// constant of its own.
macro_rules! simd_kernel {
    ($(#[$meta:meta])* $vis:vis fn $name:ident$(<const $C:ident: $Const:ty>)?($($arg:ident : $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        #[allow(unsafe_code)]
        $vis fn $name$(<const $C: $Const>)?($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            #[allow(clippy::extra_unused_type_parameters)]
            fn body<const FMA: bool $(, const $C: $Const)?>($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
            fn avx512$(<const $C: $Const>)?($($arg: $ty),*) $(-> $ret)? { body::<true $(, $C)?>($($arg),*) }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2$(<const $C: $Const>)?($($arg: $ty),*) $(-> $ret)? { body::<true $(, $C)?>($($arg),*) }

            #[cfg(target_arch = "x86_64")]
            match $crate::kernels::simd::level() {
                // SAFETY: `level()` returns a level only after the processor was asked for it.
                $crate::kernels::simd::Level::Avx512 => return unsafe { avx512$(::<$C>)?($($arg),*) },
                // SAFETY: as above.
                $crate::kernels::simd::Level::Avx2 => return unsafe { avx2$(::<$C>)?($($arg),*) },
                _ => {}
            }
            #[cfg(target_arch = "aarch64")]
            if $crate::kernels::simd::level().is_fused() {
                return body::<true $(, $C)?>($($arg),*);
            }
            body::<false $(, $C)?>($($arg),*)
        }
    };
}
pub(crate) use simd_kernel;

#[cfg(test)]
mod tests {
    use super::*;

    const LANES: usize = 16;

    simd_kernel! {
        fn added(s: &mut [i32; LANES], words: [u32; LANES], x: [i16; 2]) {
            add_pairs::<FMA, LANES>(s, words, x);
        }
    }

    #[test]
    fn pairs_are_added_by_every_instruction_set_alike() {
        let mut words = std::array::from_fn(|l| 0x9e37_79b9u32.wrapping_mul(l as u32 + 1));
        words[5] = 0x8000_8000;
        for x in [[1, 0], [0, 1], [-1, 1], [i16::MIN; 2], [i16::MAX, i16::MIN], [-12_345, 23_456]] {
            let (mut one, mut other) = ([7; LANES], [7; LANES]);
            added(&mut one, words, x);
            add_pairs::<false, LANES>(&mut other, words, x);
            assert_eq!(one, other);
            let halves = |word: u32| [word as i16, (word >> 16) as i16].map(i32::from);
            let sum = |[a, b]: [i32; 2]| {
                let [a, b] = [a * i32::from(x[0]), b * i32::from(x[1])].map(i64::from);
                (7 + a + b) as i32
            };
            assert_eq!(one, words.map(|word| sum(halves(word))));
        }
    }
}
