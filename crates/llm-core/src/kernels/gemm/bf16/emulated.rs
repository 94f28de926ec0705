//! What a processor's bf16 unit does, without one.

use super::number::{GROUP, add_group, add_pairs, pair};
use super::order::Order;
use super::pack::pack_a;
use super::sizes::{NR, WIDE, Words};
use super::unit::{Factors, Part, Unit};
use crate::kernels::simd::simd_kernel;
use ndarray::ArrayViewMut2;

/// Plain arithmetic, in the order of [`Order::Tiles`] or of pairs: any processor, the same bits.
pub(super) struct Emulated<const TILES: bool>;

impl<const TILES: bool> Unit for Emulated<TILES> {
    const ROWS: usize = 12;
    const PAIRS: usize = 1;

    fn pack_a(a: Part<'_>, out: &mut [u32]) -> Words {
        pack_a::<Self>(a, out)
    }

    fn along(x: &[f32], out: &mut [u32]) {
        plain_along(x, out);
    }

    fn across(first: &[f32], second: &[f32], out: &mut [u32]) {
        plain_across(first, second, out);
    }

    fn turned(lines: [&[f32]; WIDE], out: &mut [u32]) {
        let depth = lines.iter().map(|line| line.len()).max().unwrap_or(0);
        for (q, out) in out.chunks_mut(NR).take(depth.div_ceil(2)).enumerate() {
            for (line, out) in lines.iter().zip(out) {
                let at = |k: usize| line.get(k).copied().unwrap_or(0.0);
                *out = pair(at(2 * q), at(2 * q + 1));
            }
        }
    }

    fn tile(a: &[u32], words: Words, b: &[u32], c: ArrayViewMut2<'_, f32>, factors: Factors<'_>) {
        plain_tile(if TILES { Order::Tiles } else { Order::Pairs }, a, words, b, c, factors);
    }
}

simd_kernel! {
    fn plain_along(x: &[f32], out: &mut [u32]) {
        let (pairs, rest) = x.as_chunks::<2>();
        for (out, [first, second]) in out.iter_mut().zip(pairs) {
            *out = pair(*first, *second);
        }
        if let ([last], Some(out)) = (rest, out.last_mut()) {
            *out = pair(*last, 0.0);
        }
    }
}

simd_kernel! {
    fn plain_across(first: &[f32], second: &[f32], out: &mut [u32]) {
        let (filled, rest) = out.split_at_mut(first.len());
        if second.is_empty() {
            filled.iter_mut().zip(first).for_each(|(out, x)| *out = pair(*x, 0.0));
        } else {
            for ((out, x), y) in filled.iter_mut().zip(first).zip(second) {
                *out = pair(*x, *y);
            }
        }
        rest.fill(0);
    }
}

simd_kernel! {
    fn plain_tile(order: Order, a: &[u32], words: Words, b: &[u32], c: ArrayViewMut2<'_, f32>, factors: Factors<'_>) {
        let mut c = c;
        for (r, mut out) in c.rows_mut().into_iter().enumerate() {
            let mut sums = [0.0; NR];
            let a = |q: usize| a[r * words.row + q * words.step];
            for (g, b) in b.as_chunks::<NR>().0.chunks(GROUP).enumerate() {
                let a: [u32; GROUP] = std::array::from_fn(|q| if q < b.len() { a(g * GROUP + q) } else { 0 });
                match order {
                    Order::Tiles => add_group::<FMA, NR>(&mut sums, &a, b),
                    Order::Pairs => a.iter().zip(b).for_each(|(a, b)| add_pairs::<FMA, NR>(&mut sums, *a, b)),
                }
            }
            for (j, (c, sum)) in out.iter_mut().zip(sums).enumerate() {
                let sum = if factors.bias.is_empty() { sum } else { sum + factors.bias[j] };
                let scaled = factors.alpha * sum;
                *c = if factors.beta == 0.0 { scaled } else { scaled + factors.beta * *c };
            }
        }
    }
}

const _: () = assert!(NR.is_multiple_of(WIDE));
