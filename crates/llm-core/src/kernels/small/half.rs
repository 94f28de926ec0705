//! f16 numbers, in which scales are kept: a sign, 5 bits of exponent, 10 bits behind the point.

/// The nearest f16 (of two that are as near, the even one), as its 16 bits. What is too large
/// becomes ∞, what is too small 0; a NaN stays one.
pub fn round(x: f32) -> u16 {
    const INFINITY: u32 = 0x7c00;
    let sign = x.to_bits() & 0x8000_0000;
    let size = x.to_bits() ^ sign;
    let kept = if size > f32::INFINITY.to_bits() {
        0x7e00
    } else if f32::from_bits(size) < 1.0 / 16384.0 {
        // Steps of 2⁻²⁴, which are also the steps of f32 from 1/2 to 1.
        (f32::from_bits(size) + 0.5).to_bits() - 0.5f32.to_bits()
    } else {
        // 13 bits fewer behind the point; the exponents' zeros lie 112 apart.
        (((size + 0xfff + (size >> 13 & 1)) >> 13) - (112 << 10)).min(INFINITY)
    };
    (kept | sign >> 16) as u16
}

/// The f32 that an f16 is; not for ∞ and NaN, which no scale is.
#[inline(always)]
pub fn widen(x: u16) -> f32 {
    let x = u32::from(x);
    // With its exponent read as that of an f32 it is 2¹¹² times too small.
    let size = f32::from_bits((x & 0x7fff) << 13) * f32::from_bits((127 + 112) << 23);
    f32::from_bits(size.to_bits() | (x & 0x8000) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_f16_comes_back_and_what_lies_between_goes_to_the_nearer() {
        assert_eq!(
            [0x3c00, 0x3c01, 0xc000, 0x0001].map(widen),
            [1.0, 1.0 + 1.0 / 1024.0, -2.0, 2f32.powi(-24)]
        );
        assert_eq!(widen(0x7bff), 65504.0);
        for x in 0..0x7bff {
            let (low, high) = (widen(x), widen(x + 1));
            assert!(low < high);
            assert_eq!((round(low), round(-low)), (x, x | 0x8000));
            let middle = low + (high - low) / 2.0;
            assert_eq!(round(middle), if x % 2 == 0 { x } else { x + 1 });
            assert_eq!((round(middle.next_down()), round(middle.next_up())), (x, x + 1));
        }
        assert_eq!((round(65519.0), round(65520.0)), (0x7bff, 0x7c00));
        assert_eq!([1e30, f32::INFINITY, -1e30].map(round), [0x7c00, 0x7c00, 0xfc00]);
        assert_eq!(round(f32::NAN), 0x7e00);
    }
}
