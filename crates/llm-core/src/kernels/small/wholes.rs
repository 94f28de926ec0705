//! Products with q8 and q4: whole numbers with whole numbers, added up exactly.
//!
//! A weight is d·(n − z), with the block's scale d, a whole number n of b bits, and z = 2ᵇ/2. So that its
//! inputs are whole numbers too, 32 of them are rounded: x ≈ e·m, with e = the largest size by 32767. Then
//!
//! ```text
//! Σ x·w ≈ d·e·(Σ m·n − z·Σ m)
//! ```
//!
//! where all in brackets is exact in 32 bits: 32·32767·255 < 2³¹. An input is off by little more than e/2, a
//! 65534th of the largest of its block. With AVX2 two products are one instruction on pairs of 16 bits;
//! `dots` has aarch64's way.

use super::block::WIDTH;
#[cfg(target_arch = "aarch64")]
use super::dots;
use super::few_rows::few_rows;
use super::half;
use super::matrix::{AHEAD, Line, Scales};
use crate::kernels::math::LANES;
use crate::kernels::simd::{add_pairs, fma, prefetch, simd_kernel};

/// The highest whole number of an input.
const MOST: f32 = i16::MAX as f32;

/// 32 inputs.
#[derive(Clone)]
pub(super) struct Inputs {
    /// What meets the weights of a word: number i and the one that lies 16 bits above it, for each i
    /// of a word's lower half.
    pairs: [[i16; 2]; WIDTH / 2],
    /// Σ m.
    total: i32,
    /// e.
    scale: f32,
    /// The whole numbers as bytes, for [`dots`].
    #[cfg(target_arch = "aarch64")]
    bytes: dots::Bytes,
}

impl Inputs {
    /// 32 inputs, rounded, for words with numbers of `BITS` bits. Where one is not finite, the
    /// scale is not.
    #[inline(always)]
    fn new<const BITS: usize>(x: &[f32; WIDTH]) -> Inputs {
        // As bits, so that NaN is the largest of all.
        let size = x.iter().map(|x| x.abs().to_bits()).fold(0, u32::max);
        let scale = f32::from_bits(size) / MOST;
        // Blocks of sizes below 4·10⁻³⁴ are as good as zeros, and 1/e never infinite.
        let inverse = if scale > f32::MIN_POSITIVE { 1.0 / scale } else { 0.0 };
        // The nearest: moved above 0, a half more, cut off.
        let steps = x.map(|x| (x * inverse + (MOST + 1.5)) as i32 - (MOST as i32 + 1));
        let half_a_word = 16 / BITS;
        let pairs = std::array::from_fn(|p| {
            let first = p / half_a_word * 2 * half_a_word + p % half_a_word;
            [steps[first] as i16, steps[first + half_a_word] as i16]
        });
        Inputs {
            pairs,
            total: steps.iter().sum(),
            scale,
            #[cfg(target_arch = "aarch64")]
            bytes: dots::Bytes::new::<BITS>(&steps),
        }
    }
}

simd_kernel! {
    /// The inputs for a matrix with numbers of `BITS` bits.
    pub(super) fn inputs<const BITS: usize>(x: &[[f32; WIDTH]]) -> Vec<Inputs> {
        x.iter().map(Inputs::new::<BITS>).collect()
    }
}

/// sums ← X·W for `rows` rows and the outputs whose words and scales come first.
#[allow(unsafe_code)]
pub(super) fn sum<const BITS: usize>(
    sums: &mut [[f32; LANES]],
    x: &[Inputs],
    rows: usize,
    words: &[Line],
    scales: &[Scales],
) {
    #[cfg(target_arch = "aarch64")]
    if dots::are_there() {
        // SAFETY: the processor was asked.
        return unsafe { by_dots::<BITS>(sums, x, rows, words, scales) };
    }
    by_pairs::<BITS>(sums, x, rows, words, scales);
}

/// sums ← X·W, where `block` has Σ m·(n − z) of 32 inputs of each row. (A function's argument for that would not
/// be compiled for the instruction set of its caller.)
macro_rules! panels {
    ($sums:ident, $x:ident, $rows:ident, $words:ident, $scales:ident, |$inputs:ident, $lines:ident| $block:expr) => {
        let blocks = $x.len() / $rows;
        let panels = $words.chunks_exact(blocks * BITS).zip($scales.chunks_exact(blocks));
        for (sums, (words, scales)) in $sums.chunks_exact_mut($rows).zip(panels) {
            few_rows!([8 4 2 1], sums, $x, $rows, |sums, x| {
                sums.fill([0.0; LANES]);
                for (i, ($lines, d)) in words.chunks_exact(BITS).zip(scales).enumerate() {
                    let $inputs = x.map(|x| &x[i]);
                    add_scaled::<_, FMA>(sums, $inputs, d, $block);
                }
            });
        }
    };
}

/// By the products of bytes.
#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon,dotprod")]
fn by_dots<const BITS: usize>(
    sums: &mut [[f32; LANES]],
    x: &[Inputs],
    rows: usize,
    words: &[Line],
    scales: &[Scales],
) {
    const FMA: bool = true;
    panels!(sums, x, rows, words, scales, |x, lines| x
        .map(|x| dots::block::<BITS>(&x.bytes, lines)));
}

simd_kernel! {
    fn by_pairs<const BITS: usize>(sums: &mut [[f32; LANES]], x: &[Inputs], rows: usize, words: &[Line], scales: &[Scales]) {
        panels!(sums, x, rows, words, scales, |x, lines| block::<BITS, _, FMA>(x, lines));
    }
}

/// sums ← sums + d·e·whole.
#[inline(always)]
fn add_scaled<const R: usize, const FMA: bool>(
    sums: &mut [[f32; LANES]; R],
    x: [&Inputs; R],
    d: &Scales,
    whole: [[i32; LANES]; R],
) {
    let mut wide = [0.0; LANES];
    for l in 0..LANES {
        wide[l] = half::widen(d[l]);
    }
    for ((sums, x), whole) in sums.iter_mut().zip(x).zip(whole) {
        let scale = x.scale;
        for l in 0..LANES {
            sums[l] = fma::<FMA>(scale * wide[l], whole[l] as f32, sums[l]);
        }
    }
}

/// Σ m·(n − z) by pairs.
#[inline(always)]
fn block<const BITS: usize, const R: usize, const FMA: bool>(
    x: [&Inputs; R],
    lines: &[Line],
) -> [[i32; LANES]; R] {
    let number = (1u32 << BITS) - 1;
    let two = number << 16 | number;
    let mut whole = x.map(|x| [-x.total << (BITS - 1); LANES]);
    for (line, Line(words)) in lines.iter().enumerate() {
        prefetch(words, AHEAD);
        for i in 0..16 / BITS {
            let mut numbers = *words;
            for number in &mut numbers {
                *number = *number >> (BITS * i) & two;
            }
            for (whole, x) in whole.iter_mut().zip(x) {
                add_pairs::<FMA, LANES>(whole, numbers, x.pairs[line * (16 / BITS) + i]);
            }
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The inputs as they were rounded, in their own order.
    fn back<const BITS: usize>(x: &[f32; WIDTH]) -> [f32; WIDTH] {
        let Inputs { pairs, total, scale, .. } = Inputs::new::<BITS>(x);
        let mut steps = [0; WIDTH];
        for (word, pairs) in steps.chunks_mut(32 / BITS).zip(pairs.chunks(16 / BITS)) {
            let (low, high) = word.split_at_mut(16 / BITS);
            for ((low, high), &[a, b]) in low.iter_mut().zip(high).zip(pairs) {
                (*low, *high) = (i32::from(a), i32::from(b));
            }
        }
        assert_eq!(total, steps.iter().sum::<i32>());
        steps.map(|step| scale * step as f32)
    }

    #[test]
    fn inputs_are_off_by_half_a_step_and_keep_their_places() {
        for size in [1e-30, 1e-6, 1.0, 1e20] {
            let x: [f32; WIDTH] = std::array::from_fn(|i| size * ((i * 37 % 61) as f32 - 30.0));
            let step = 30.0 * size / MOST;
            for back in [back::<8>(&x), back::<4>(&x)] {
                let near = |(x, y): (&f32, &f32)| (x - y).abs() <= 0.51 * step;
                assert!(x.iter().zip(&back).all(near), "{x:?} as {back:?}");
            }
        }
        assert_eq!(back::<8>(&[0.0; WIDTH]), [0.0; WIDTH]);
        assert_eq!(back::<8>(&[f32::from_bits(1); WIDTH]), [0.0; WIDTH]);
    }

    #[test]
    fn what_is_not_finite_stays_so() {
        for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for place in [0, 17, 31] {
                let mut x = [1.0; WIDTH];
                x[place] = odd;
                assert!(!Inputs::new::<8>(&x).scale.is_finite());
            }
        }
    }

    /// By whatever instructions: whole numbers have one sum.
    #[test]
    fn sums_of_whole_numbers_are_exact() {
        let mut state = 88_172_645_463_325_252u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 24) as u32
        };
        for _ in 0..500 {
            let x: [f32; WIDTH] = std::array::from_fn(|_| f32::from(next() as i16));
            let lines: Vec<Line> = (0..8).map(|_| Line(std::array::from_fn(|_| next()))).collect();
            for (bits, inputs) in [(8, Inputs::new::<8>(&x)), (4, Inputs::new::<4>(&x))] {
                let steps = if bits == 8 { back::<8>(&x) } else { back::<4>(&x) };
                let steps = steps.map(|step| (step / inputs.scale).round() as i64);
                let mut y = [[0.0; LANES]];
                let sum = if bits == 8 { sum::<8> } else { sum::<4> };
                sum(&mut y, std::slice::from_ref(&inputs), 1, &lines[..bits], &[[0x3c00; LANES]]);
                for (l, y) in y[0].into_iter().enumerate() {
                    let number = |i: usize| {
                        let word = lines[i / (32 / bits)].0[l] >> (i % (32 / bits) * bits);
                        i64::from(word & ((1 << bits) - 1)) - (1 << (bits - 1))
                    };
                    let whole: i64 = (0..WIDTH).map(|i| steps[i] * number(i)).sum();
                    assert_eq!(y, inputs.scale * whole as f32, "{bits} bits");
                }
            }
        }
    }

    /// No sum leaves its 32 bits.
    #[test]
    fn the_largest_numbers_fit() {
        let x: Vec<_> = [-1.0, 1.0].map(|x| Inputs::new::<8>(&[x; WIDTH])).into();
        for (sign, step, weight) in
            [(0, 255, 127.0), (1, 255, 127.0), (0, 0, -128.0), (1, 0, -128.0)]
        {
            let word = u32::from_ne_bytes([step; 4]);
            let mut y = [[0.0; LANES]];
            sum::<8>(&mut y, &x[sign..=sign], 1, &[Line([word; LANES]); 8], &[[0x3c00; LANES]]);
            let want = weight * WIDTH as f32 * [-1.0, 1.0][sign];
            assert!(y[0].iter().all(|y| (y / want - 1.0).abs() < 1e-6), "{y:?}");
        }
    }
}
