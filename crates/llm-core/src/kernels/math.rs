//! Branch-free scalar functions and row reductions, written so that loops over them vectorise.
//!
//! Reductions keep sixteen partial results in a fixed pattern, so a sum has the same bits at every
//! vector width.

use super::simd::fma;

/// Number of partial results in a reduction: one AVX-512 register of f32.
pub(crate) const LANES: usize = 16;

/// eˣ to 1 ulp for −87.33 ≤ x ≤ 88.37; 0 below, ∞ above, NaN for NaN.
///
/// x = n·ln 2 + r with |r| ≤ ln 2 / 2, eˣ = 2ⁿ·eʳ, and eʳ is a polynomial of degree 6
/// (coefficients: Cephes `expf`). The results for very negative x that std would give as
/// denormals are 0 here.
#[inline(always)]
pub(crate) fn exp<const FMA: bool>(x: f32) -> f32 {
    /// 1.5·2²³: adding it rounds to the nearest integer and leaves that integer in the low bits.
    const ROUND: f32 = 12_582_912.0;
    const LN2_HI: f32 = 0.693_359_4;
    const LN2_LO: f32 = -2.121_944_4e-4;
    let shifted = fma::<FMA>(x, std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = fma::<FMA>(n, -LN2_HI, x);
    let r = fma::<FMA>(n, -LN2_LO, r);
    let p = fma::<FMA>(r, 1.987_569_1e-4, 1.398_199_9e-3);
    let p = fma::<FMA>(p, r, 8.333_452e-3);
    let p = fma::<FMA>(p, r, 4.166_579_5e-2);
    let p = fma::<FMA>(p, r, 1.666_666_5e-1);
    let p = fma::<FMA>(p, r, 0.5);
    let p = fma::<FMA>(p, r * r, r + 1.0);
    // 2ⁿ by writing n + 127 into the exponent; wrapping because x may be far outside.
    let bits = shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127);
    let y = p * f32::from_bits(bits.wrapping_shl(23));
    // Comparisons are false for NaN, which thus passes through `p`.
    let y = if x < -87.33 { 0.0 } else { y };
    if x > 88.37 { f32::INFINITY } else { y }
}

/// σ(x) = 1 / (1 + e⁻ˣ).
#[inline(always)]
pub(crate) fn sigmoid<const FMA: bool>(x: f32) -> f32 {
    1.0 / (1.0 + exp::<FMA>(-x))
}

/// tanh x, within 4 ulp. Near 0, where (1 − e⁻²ˣ)/(1 + e⁻²ˣ) would lose digits, its series.
#[inline(always)]
pub(crate) fn tanh<const FMA: bool>(x: f32) -> f32 {
    let size = x.abs();
    let e = exp::<FMA>(-2.0 * size);
    let far = ((1.0 - e) / (1.0 + e)).copysign(x);
    let square = x * x;
    let p = fma::<FMA>(square, 62.0 / 2835.0, -17.0 / 315.0);
    let p = fma::<FMA>(square, p, 2.0 / 15.0);
    let p = fma::<FMA>(square, p, -1.0 / 3.0);
    let near = fma::<FMA>(p * square, x, x);
    if size < 0.3 { near } else { far }
}

/// The greatest element (−∞ for an empty row; NaNs are passed over).
#[inline(always)]
pub(crate) fn row_max(x: &[f32]) -> f32 {
    let (chunks, rest) = x.as_chunks::<LANES>();
    let mut acc = [f32::NEG_INFINITY; LANES];
    for c in chunks {
        for l in 0..LANES {
            acc[l] = if c[l] > acc[l] { c[l] } else { acc[l] };
        }
    }
    acc.iter().chain(rest).fold(f32::NEG_INFINITY, |m, &v| if v > m { v } else { m })
}

/// Σ xᵢ.
#[inline(always)]
pub(crate) fn row_sum(x: &[f32]) -> f32 {
    let (chunks, rest) = x.as_chunks::<LANES>();
    let mut acc = [0.0f32; LANES];
    for c in chunks {
        for l in 0..LANES {
            acc[l] += c[l];
        }
    }
    fold_lanes(acc) + rest.iter().sum::<f32>()
}

/// Σ xᵢ·yᵢ.
#[inline(always)]
pub(crate) fn row_dot<const FMA: bool>(x: &[f32], y: &[f32]) -> f32 {
    let (xc, xr) = x.as_chunks::<LANES>();
    let (yc, yr) = y.as_chunks::<LANES>();
    let mut acc = [0.0f32; LANES];
    for (a, b) in xc.iter().zip(yc) {
        for l in 0..LANES {
            acc[l] = fma::<FMA>(a[l], b[l], acc[l]);
        }
    }
    fold_lanes(acc) + xr.iter().zip(yr).map(|(a, b)| a * b).sum::<f32>()
}

/// y ← e^(y − shift), and Σ y.
#[inline(always)]
pub(crate) fn row_exp_and_sum<const FMA: bool>(y: &mut [f32], shift: f32) -> f32 {
    let (chunks, rest) = y.as_chunks_mut::<LANES>();
    let mut acc = [0.0f32; LANES];
    for c in chunks {
        for l in 0..LANES {
            c[l] = exp::<FMA>(c[l] - shift);
            acc[l] += c[l];
        }
    }
    let mut sum = fold_lanes(acc);
    for v in rest {
        *v = exp::<FMA>(*v - shift);
        sum += *v;
    }
    sum
}

/// Σ e^(xᵢ − shift): [`row_exp_and_sum`] where the terms themselves are not wanted.
#[inline(always)]
pub(crate) fn row_sum_of_exp<const FMA: bool>(x: &[f32], shift: f32) -> f32 {
    let (chunks, rest) = x.as_chunks::<LANES>();
    let mut acc = [0.0f32; LANES];
    for c in chunks {
        for l in 0..LANES {
            acc[l] += exp::<FMA>(c[l] - shift);
        }
    }
    rest.iter().fold(fold_lanes(acc), |sum, v| sum + exp::<FMA>(v - shift))
}

/// The sixteen partial sums as one, in a fixed tree. Apart where vectors are of four: inside a reduction the
/// compiler would pair the lanes as the tree does, and use half of each vector.
#[cfg_attr(target_arch = "aarch64", inline(never))]
#[cfg_attr(not(target_arch = "aarch64"), inline(always))]
fn fold_lanes(mut acc: [f32; LANES]) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for l in 0..width {
            acc[l] += acc[l + width];
        }
        width /= 2;
    }
    acc[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tanh_is_within_four_ulp_of_f64() {
        for i in 0..1_000_000 {
            let x = -12.0 + i as f32 * (24.0 / 1e6);
            let want = f64::from(x).tanh();
            for got in [tanh::<true>(x), tanh::<false>(x)] {
                let off = (f64::from(got) - want).abs();
                assert!(off <= 2.4e-7 * want.abs(), "tanh({x}) = {got}, not {want}");
            }
        }
        assert_eq!([0.0, 1e-30, f32::INFINITY, -1e9].map(tanh::<true>), [0.0, 1e-30, 1.0, -1.0]);
        assert!(tanh::<true>(f32::NAN).is_nan());
    }

    #[test]
    fn exp_is_within_two_ulp_of_f64() {
        for i in 0..2_000_000 {
            let x = -87.3 + i as f32 * (175.6 / 2e6);
            let (want, got) = (f64::from(x).exp(), f64::from(exp::<true>(x)));
            let plain = f64::from(exp::<false>(x));
            assert!((got / want - 1.0).abs() < 2.4e-7, "exp({x}) = {got}, not {want}");
            assert!((plain / want - 1.0).abs() < 2.4e-7, "exp({x}) = {plain}, not {want}");
        }
        assert_eq!(exp::<true>(0.0), 1.0);
        assert_eq!(exp::<true>(-1e9), 0.0);
        assert_eq!(exp::<true>(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp::<true>(1e9), f32::INFINITY);
        assert!(exp::<true>(f32::NAN).is_nan());
    }

    #[test]
    fn reductions_equal_their_naive_twins() {
        for n in 0..70 {
            let x: Vec<f32> = (0..n).map(|i| ((i * 37) % 23) as f32 - 11.0).collect();
            let y: Vec<f32> = (0..n).map(|i| ((i * 17) % 29) as f32 - 14.0).collect();
            assert_eq!(row_max(&x), x.iter().copied().fold(f32::NEG_INFINITY, f32::max));
            assert_eq!(row_sum(&x), x.iter().sum::<f32>()); // small integers: exact
            assert_eq!(row_dot::<true>(&x, &y), x.iter().zip(&y).map(|(a, b)| a * b).sum::<f32>());
        }
        for n in 0..70 {
            let x: Vec<f32> = (0..n).map(|i| ((i * 37) % 23) as f32 - 11.0).collect();
            let mut y = x.clone();
            let sum = row_exp_and_sum::<true>(&mut y, 3.0);
            assert_eq!(row_sum_of_exp::<true>(&x, 3.0), sum); // the same terms in the same order
            let want: f64 = x.iter().map(|&v| (f64::from(v) - 3.0).exp()).sum();
            assert!((f64::from(sum) - want).abs() <= 1e-6 * want);
        }
        assert!(row_sum(&[1.0, f32::NAN]).is_nan());
    }
}
