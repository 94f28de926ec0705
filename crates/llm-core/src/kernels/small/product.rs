//! y ← y + x·W with small numbers: plain loops over 16 outputs, widened in registers.

use super::block::{SmallKind, WIDTH};
use super::half;
use super::matrix::{Line, Scales, SmallMatrix};
use crate::kernels::math::LANES;
use crate::kernels::parallel;
use crate::kernels::simd::{fma, prefetch, simd_kernel};

/// Weights that are worth a thread of their own.
const SHARE: usize = 1 << 18;
/// Words between the one that is used and the one that is asked for: two pages of memory.
const AHEAD: usize = 1 << 11;
/// Sums of a block for each output: an addition waits for the one before it, so two take turns.
const TURNS: usize = 2;

/// y ← y + x·W. Each output adds up 32 products at a time, and these sums in the order of the
/// inputs, whatever the number of threads.
///
/// # Shapes
/// `x [K]`, `w [K, N]`, `y [N]`.
pub fn add_product(y: &mut [f32], x: &[f32], w: &SmallMatrix) {
    let (x, rest) = x.as_chunks::<WIDTH>();
    // The last block, if it is not whole, has zeros where its weights have.
    let mut padded = [[0.0; WIDTH]];
    padded[0][..rest.len()].copy_from_slice(rest);
    let last = if rest.is_empty() { &[][..] } else { &padded };
    let blocks = x.len() + last.len();
    let totals: Vec<f32> = x.iter().chain(last).map(|x| x.iter().sum()).collect();
    let add = match w.kind {
        SmallKind::Bf16 => add_bf16,
        SmallKind::Q8 => add_q8,
        SmallKind::Q4 => add_q4,
    };
    let grain = SHARE.div_ceil((blocks * WIDTH).max(1));
    parallel::rows(y, LANES, grain, |first, y| {
        let panels = first..first + y.len().div_ceil(LANES);
        let lines = blocks * w.kind.bits();
        let scales = if w.kind.has_scale() { blocks } else { 0 };
        let words = &w.words[panels.start * lines..panels.end * lines];
        add(y, x, last, &totals, words, &w.scales[panels.start * scales..panels.end * scales]);
    });
}

simd_kernel! {
    fn add_bf16(y: &mut [f32], x: &[[f32; WIDTH]], last: &[[f32; WIDTH]], totals: &[f32], words: &[Line], scales: &[Scales]) {
        add_panels::<16, false, FMA>(y, x, last, totals, words, scales, |word, i| {
            f32::from_bits(if i == 0 { word << 16 } else { word & 0xffff_0000 })
        });
    }
}

simd_kernel! {
    fn add_q8(y: &mut [f32], x: &[[f32; WIDTH]], last: &[[f32; WIDTH]], totals: &[f32], words: &[Line], scales: &[Scales]) {
        add_panels::<8, true, FMA>(y, x, last, totals, words, scales, above_one::<8>);
    }
}

simd_kernel! {
    fn add_q4(y: &mut [f32], x: &[[f32; WIDTH]], last: &[[f32; WIDTH]], totals: &[f32], words: &[Line], scales: &[Scales]) {
        add_panels::<4, true, FMA>(y, x, last, totals, words, scales, above_one::<4>);
    }
}

/// Bits behind the point of an f32.
const BEHIND: usize = f32::MANTISSA_DIGITS as usize - 1;

/// 1 + n/2ᵇ for number i of a word, n of b bits: n becomes the first bits behind the point of a 1. So
/// a number costs a rotation and a choice of bits; what it is too large by is the same for all.
#[inline(always)]
fn above_one<const BITS: usize>(word: u32, i: usize) -> f32 {
    let (lowest, numbers) = (BEHIND - BITS, (1 << BITS) - 1);
    let down = (BITS * i + u32::BITS as usize - lowest) % u32::BITS as usize;
    f32::from_bits(1f32.to_bits() | word.rotate_right(down as u32) & (numbers << lowest))
}

/// 16 outputs after 16 outputs. `number(word, i)` is number i of a word. With scales d it is
/// 1 + n/2ᵇ for d·(n − 2ᵇ/2), so with the total of a block's inputs
///
/// ```text
/// Σ x·d·(n − 2ᵇ/2) = d·2ᵇ·(Σ x·(1 + n/2ᵇ) − 1.5·Σ x)
/// ```
#[inline(always)]
fn add_panels<const BITS: usize, const SCALED: bool, const FMA: bool>(
    y: &mut [f32],
    x: &[[f32; WIDTH]],
    last: &[[f32; WIDTH]],
    totals: &[f32],
    words: &[Line],
    scales: &[Scales],
    number: impl Fn(u32, usize) -> f32,
) {
    let (each, blocks) = (32 / BITS, x.len() + last.len());
    let numbers = (1u32 << BITS) as f32;
    for (panel, (y, words)) in
        y.chunks_mut(LANES).zip(words.chunks_exact(blocks * BITS)).enumerate()
    {
        let mut sums = [0.0; LANES];
        let inputs = x.iter().chain(last).zip(words.chunks_exact(BITS)).enumerate();
        for (b, (x, lines)) in inputs {
            let mut parts = [[0.0; LANES]; TURNS];
            if SCALED {
                parts[0] = [-1.5 * totals[b]; LANES];
            }
            for (x, Line(line)) in x.chunks_exact(each).zip(lines) {
                prefetch(line, AHEAD);
                for i in 0..each {
                    let part = &mut parts[i % TURNS];
                    for l in 0..LANES {
                        part[l] = fma::<FMA>(x[i], number(line[l], i), part[l]);
                    }
                }
            }
            let [even, odd] = parts;
            for l in 0..LANES {
                let sum = even[l] + odd[l];
                sums[l] = match SCALED {
                    true => {
                        let d = half::widen(scales[panel * blocks + b][l]);
                        fma::<FMA>(numbers * d, sum, sums[l])
                    }
                    false => sums[l] + sum,
                };
            }
        }
        y.iter_mut().zip(sums).for_each(|(y, sum)| *y += sum);
    }
}

#[cfg(test)]
mod tests {
    use super::super::matrix::Stored;
    use super::*;

    fn numbers(n: usize, salt: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * 31 + salt * 7) % 19) as f32 / 9.5 - 1.0).collect()
    }

    fn small(kind: SmallKind, k: usize, n: usize) -> SmallMatrix {
        SmallMatrix::new(kind, &numbers(k * n, 2), [k, n], Stored::ByInput).unwrap()
    }

    #[test]
    fn products_equal_their_naive_twins() {
        for kind in SmallKind::ALL {
            for k in [1, 7, 31, 32, 33, 64, 100, 768] {
                for n in [1, 3, 15, 16, 17, 65, 200] {
                    let (x, start, w) = (numbers(k, 1), numbers(n, 3), small(kind, k, n));
                    let mut y = start.clone();
                    add_product(&mut y, &x, &w);
                    for j in 0..n {
                        let term = |i: usize| f64::from(x[i]) * f64::from(w.number(i, j));
                        let want = f64::from(start[j]) + (0..k).map(term).sum::<f64>();
                        // Each of at most K + 3 additions rounds by 2⁻²⁴ of what was added up.
                        let all = 1.0 + (0..k).map(|i| term(i).abs()).sum::<f64>();
                        let off = (f64::from(y[j]) - want).abs();
                        assert!(off < all * (k + 3) as f64 / (1 << 24) as f64, "{kind} {k} {n}");
                    }
                }
            }
        }
    }

    /// Whole numbers are added exactly, in any order: what was read is what was written.
    #[test]
    fn every_step_is_what_it_stands_for() {
        for kind in SmallKind::ALL {
            let most = if kind == SmallKind::Q4 { 8 } else { 127 };
            let (k, n) = (96, 40);
            let w: Vec<f32> =
                (0..k * n).map(|i| (i * 7 % (2 * most)) as f32 - most as f32).collect();
            let w = SmallMatrix::new(kind, &w, [k, n], Stored::ByInput).unwrap();
            for i in 0..k {
                let (mut x, mut y) = (vec![0.0; k], vec![0.0; n]);
                x[i] = 1.0;
                add_product(&mut y, &x, &w);
                assert!((0..n).all(|j| y[j] == w.number(i, j)), "{kind}");
            }
        }
    }

    #[test]
    fn bits_do_not_depend_on_the_threads() {
        for kind in SmallKind::ALL {
            let (k, n) = (769, 1501);
            let (x, w) = (numbers(k, 1), small(kind, k, n));
            let run = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    let mut y = vec![0.5; n];
                    add_product(&mut y, &x, &w);
                    y
                })
            };
            let one = run(1);
            assert!([2, 3, 8].into_iter().all(|threads| run(threads) == one));
        }
    }
}
