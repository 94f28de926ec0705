//! bf16 numbers, two of them side by side, and what a product does with such pairs, in both orders.
//!
//! A bf16 is the upper half of an f32: its sign, its 8 bits of exponent and 7 of 23 bits behind the
//! point. So it reaches as far as f32, with steps 65,536 times as wide: 1, 1.0078125, 1.015625, …

/// The smallest normal f32, 2⁻¹²⁶.
const SMALLEST: f32 = f32::MIN_POSITIVE;
/// Below this f64 (2⁻¹²⁶ − 2⁻¹⁵¹, in size) a sum is smaller than any normal f32 once it is rounded
/// to 24 bits.
const TINY: f64 = SMALLEST as f64 * (1.0 - 1.0 / (1u64 << 25) as f64);

/// The nearest bf16 (of two that are as near, the even one), as its 16 bits. Numbers below 2⁻¹²⁶
/// become 0 of their sign, a NaN stays one.
#[inline(always)]
pub fn round(x: f32) -> u16 {
    let bits = x.to_bits();
    let sign = bits & 0x8000_0000;
    let size = bits ^ sign;
    let nearest = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
    let kept = if size > 0x7f80_0000 {
        bits | 0x0040_0000
    } else if size < SMALLEST.to_bits() {
        sign
    } else {
        nearest
    };
    (kept >> 16) as u16
}

/// The f32 that a bf16 is.
#[inline(always)]
pub fn widen(x: u16) -> f32 {
    f32::from_bits(u32::from(x) << 16)
}

/// Two numbers, rounded: the first in the lower half.
#[inline(always)]
pub(super) fn pair(first: f32, second: f32) -> u32 {
    u32::from(round(first)) | u32::from(round(second)) << 16
}

/// 0 of its sign in place of a number below 2⁻¹²⁶.
#[inline(always)]
fn flushed(x: f32) -> f32 {
    if x.abs() < SMALLEST { 0f32.copysign(x) } else { x }
}

/// sum + a·b rounded once, as a fused multiply-add does it; 0 of its sign where that would be
/// smaller than 2⁻¹²⁶.
///
/// In f64 the product of two bf16 is exact, and the sum of it and an f32 is rounded so far down that
/// rounding it again to f32 gives what rounding once would have given.
#[inline(always)]
fn fused(sum: f32, a: f32, b: f32) -> f32 {
    let exact = f64::from(sum) + f64::from(a) * f64::from(b);
    if exact.abs() < TINY { 0f32.copysign(exact as f32) } else { exact as f32 }
}

/// The two numbers of a word.
#[inline(always)]
fn both(word: u32) -> [f32; 2] {
    [f32::from_bits(word << 16), f32::from_bits(word & 0xffff_0000)]
}

/// sum ← sum + a₁·b₁, then + a₀·b₀: what the instruction `vdpbf16ps` does, the second of each pair
/// first, rounded after each.
#[inline(always)]
pub fn add_pair(sum: f32, a: u32, b: u32) -> f32 {
    let ([a0, a1], [b0, b1]) = (both(a), both(b));
    fused(fused(sum, a1, b1), a0, b0)
}

/// [`add_pair`] for many sums and one a. With `FMA` by the processor's own fused multiply-add, which
/// does the same but where a sum lands on 2⁻¹²⁶: there it may have been less before it was rounded.
#[inline(always)]
pub(super) fn add_pairs<const FMA: bool, const N: usize>(acc: &mut [f32; N], a: u32, b: &[u32; N]) {
    if FMA {
        let quick = |sum: f32, a: f32, b: f32| flushed(a.mul_add(b, sum));
        let (mut new, mut unsure, [a0, a1]) = (*acc, false, both(a));
        for (sum, b) in new.iter_mut().zip(b) {
            let [b0, b1] = both(*b);
            let half = quick(*sum, a1, b1);
            *sum = quick(half, a0, b0);
            unsure |= (half.abs() == SMALLEST) | (sum.abs() == SMALLEST);
        }
        if !unsure {
            *acc = new;
            return;
        }
    }
    for (sum, b) in acc.iter_mut().zip(b) {
        *sum = add_pair(*sum, a, *b);
    }
}

/// Pairs that a unit for tiles adds up before it looks at the sum.
pub const GROUP: usize = 16;

/// sum ← sum + (Σ a₀·b₀ + Σ a₁·b₁) over a group of up to 16 pairs: what the instruction `tdpbf16ps` does. The
/// first numbers of all pairs are summed for themselves, the second for themselves, rounded after each.
pub fn add_tile(sum: f32, pairs: impl IntoIterator<Item = (u32, u32)>) -> f32 {
    let [mut firsts, mut seconds] = [0.0; 2];
    let mut count = 0;
    for (a, b) in pairs {
        let ([a0, a1], [b0, b1]) = (both(a), both(b));
        firsts = fused(firsts, a0, b0);
        seconds = fused(seconds, a1, b1);
        count += 1;
    }
    if count < GROUP {
        // The unit adds zeros in their place, which make −0 to 0.
        (firsts, seconds) = (firsts + 0.0, seconds + 0.0);
    }
    flushed(sum + flushed(firsts + seconds))
}

/// [`add_tile`] for many sums and the words of one row of A; `FMA` as for [`add_pairs`].
#[inline(always)]
pub(super) fn add_group<const FMA: bool, const N: usize>(
    sums: &mut [f32; N],
    a: &[u32; GROUP],
    b: &[[u32; N]],
) {
    #[inline(always)]
    fn chains<const N: usize>(
        a: &[u32; GROUP],
        b: &[[u32; N]],
        add: impl Fn(f32, f32, f32) -> f32,
    ) -> [[f32; N]; 2] {
        let [mut firsts, mut seconds] = [[0.0; N]; 2];
        for (a, b) in a.iter().zip(b) {
            let [a0, a1] = both(*a);
            for ((first, second), b) in firsts.iter_mut().zip(&mut seconds).zip(b) {
                let [b0, b1] = both(*b);
                *first = add(*first, a0, b0);
                *second = add(*second, a1, b1);
            }
        }
        [firsts, seconds]
    }
    let unsure = std::cell::Cell::new(!FMA);
    let mut found = [[0.0; N]; 2];
    if FMA {
        found = chains(a, b, |sum, a, b| {
            let new = flushed(a.mul_add(b, sum));
            unsure.set(unsure.get() | (new.abs() == SMALLEST));
            new
        });
    }
    if unsure.get() {
        found = chains(a, b, fused);
    }
    if b.len() < GROUP {
        // As in `add_tile`.
        found.as_flattened_mut().iter_mut().for_each(|sum| *sum += 0.0);
    }
    let [firsts, seconds] = found;
    for ((sum, first), second) in sums.iter_mut().zip(firsts).zip(seconds) {
        *sum = flushed(*sum + flushed(first + second));
    }
}
