//! The most multiply-adds a second that this machine can do, and the most bytes that it can read:
//! the ceilings of every other kernel.

use super::math::row_sum;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::simd::Level;
use super::simd::{level, simd_kernel};
use crate::buffer::Buffer;
use rayon::prelude::*;
use std::time::Instant;

/// Chains of dependent multiply-adds that run side by side: enough to hide every unit's latency,
/// few enough to stay in registers.
const CHAINS: usize = 12;
/// Length of each chain.
const ROUNDS: usize = 400_000;

/// Floating-point operations a second in GFLOP/s, over all threads of the pool: the best of a few
/// short runs of a loop that never leaves the registers.
pub fn gflops() -> f64 {
    let threads = rayon::current_num_threads();
    let run = || {
        let start = Instant::now();
        let lanes: usize = (0..threads).into_par_iter().map(|_| chains()).sum();
        (lanes * CHAINS * ROUNDS * 2) as f64 / start.elapsed().as_secs_f64() / 1e9
    };
    (0..7).map(|_| run()).fold(0.0, f64::max)
}

/// Bytes a second that all threads of the pool together can read from memory, in GB/s: the best of
/// a few passes over more numbers than caches hold.
pub fn bandwidth() -> f64 {
    const NUMBERS: usize = 1 << 26;
    let mut numbers = Buffer::stale(NUMBERS); // in the same pages as weights
    numbers.fill(1.0);
    let share = NUMBERS.div_ceil(4 * rayon::current_num_threads());
    let run = || {
        let start = Instant::now();
        std::hint::black_box(numbers.par_chunks(share).map(sum).sum::<f32>());
        size_of_val(&*numbers) as f64 / start.elapsed().as_secs_f64() / 1e9
    };
    (0..7).map(|_| run()).fold(0.0, f64::max)
}

simd_kernel! {
    fn sum(x: &[f32]) -> f32 {
        let _ = FMA;
        row_sum(x)
    }
}

/// Runs the chains once; the number of lanes in each.
#[allow(unsafe_code)]
fn chains() -> usize {
    match level() {
        // SAFETY: `level()` returns a level only after the processor was asked for it.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { vectors::avx512() },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { vectors::avx2() },
        // SAFETY: NEON is a part of aarch64.
        #[cfg(target_arch = "aarch64")]
        Level::Neon => unsafe { vectors::neon() },
        _ => vectors::plain(),
    }
}

/// With vectors named, not left to the compiler: it keeps arrays like these in memory, and would
/// measure that. What it knew the values of it would leave out: 1·0.999 + 0.001 is 1.
mod vectors {
    use super::{CHAINS, ROUNDS};
    use crate::kernels::gemm::plain::{multiply_add, splat};
    #[cfg(target_arch = "aarch64")]
    use std::arch::aarch64::*;
    #[cfg(target_arch = "x86_64")]
    use std::arch::x86_64::*;
    use std::hint::black_box;

    macro_rules! chains {
        ($name:ident, [$($features:literal)?], $lanes:literal, $spread:ident, $fma:ident) => {
            $(#[target_feature(enable = $features)])?
            pub(super) fn $name() -> usize {
                let (a, b) = black_box(($spread(0.999), $spread(1e-3)));
                let mut acc = black_box([a; CHAINS]);
                for _ in 0..ROUNDS {
                    for x in &mut acc {
                        *x = $fma(*x, a, b);
                    }
                }
                black_box(acc);
                $lanes
            }
        };
    }
    #[cfg(target_arch = "x86_64")]
    chains!(avx512, ["avx512f"], 16, _mm512_set1_ps, _mm512_fmadd_ps);
    #[cfg(target_arch = "x86_64")]
    chains!(avx2, ["avx2,fma"], 8, _mm256_set1_ps, _mm256_fmadd_ps);
    #[cfg(target_arch = "aarch64")]
    chains!(neon, ["neon"], 4, vdupq_n_f32, vfmaq_f32);
    chains!(plain, [], 4, splat, multiply_add);
}
