//! 32 numbers that are rounded together.
//!
//! | kind | a number x becomes | and reads back as | the scale d |
//! |---|---|---|---|
//! | bf16 | the upper half of its f32 | the f32 of that half | none |
//! | q8 | round(x/d), −127 to 127 | d times that | the largest size by 127 |
//! | q4 | round(x/d), −8 to 7 | d times that | the number of the largest size, with its sign, by −8 |
//!
//! d is kept as f16; the division is by d as it was before. These are the numbers of llama.cpp's
//! BF16 (but for those below 2⁻¹²⁶, which are 0 here), Q8_0 and Q4_0.
//! Reference: `quantize_row_q8_0_ref` and `quantize_row_q4_0_ref` in `ggml-quants.c` of ggml.

use super::half;
use crate::base::choices;
use crate::kernels::gemm::bf16::number;
use std::fmt;
use std::str::FromStr;

/// Numbers of a block.
pub const WIDTH: usize = 32;

/// How numbers are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmallKind {
    /// 16 bits each.
    Bf16,
    /// 8 bits each, and 16 for a scale.
    Q8,
    /// 4 bits each, and 16 for a scale.
    Q4,
}

/// A block: what its numbers are multiplied with, and what they are kept as, without sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounded {
    /// As f16; 1 for a format without scales.
    pub scale: u16,
    /// The number of a step, counted from the lowest.
    pub steps: [u16; WIDTH],
}

choices!(SmallKind, Bf16 = "bf16", Q8 = "q8", Q4 = "q4");

impl SmallKind {
    /// Bits of a number, besides its share of the scale.
    pub fn bits(self) -> usize {
        match self {
            SmallKind::Bf16 => 16,
            SmallKind::Q8 => 8,
            SmallKind::Q4 => 4,
        }
    }

    /// Whether a block has a scale.
    pub fn has_scale(self) -> bool {
        self != SmallKind::Bf16
    }

    /// Bytes of a block of 32 numbers.
    pub fn block_bytes(self) -> usize {
        WIDTH * self.bits() / 8 + if self.has_scale() { size_of::<u16>() } else { 0 }
    }

    /// The block of these numbers. Its scale is ∞ where one of them is too large for it, and NaN
    /// where one is not finite.
    #[inline(always)]
    pub fn round(self, x: &[f32; WIDTH]) -> Rounded {
        let mut steps = [0; WIDTH];
        let scale = match self {
            SmallKind::Bf16 => {
                steps = x.map(number::round);
                1.0
            }
            SmallKind::Q8 => {
                let d = largest(x).abs() / 127.0;
                let inverse = inverse(d);
                for (step, x) in steps.iter_mut().zip(x) {
                    *step = ((x * inverse).round() + 128.0) as u16;
                }
                d
            }
            SmallKind::Q4 => {
                let d = largest(x) / -8.0;
                let inverse = inverse(d);
                for (step, x) in steps.iter_mut().zip(x) {
                    // A half more, cut off: 15 is the highest, and the other end may round past it.
                    *step = (x * inverse + 8.5).min(15.0) as u16;
                }
                d
            }
        };
        Rounded { scale: half::round(scale), steps }
    }

    /// The number that a step of a block stands for.
    #[inline(always)]
    pub fn number(self, scale: u16, step: u16) -> f32 {
        match self {
            SmallKind::Bf16 => number::widen(step),
            SmallKind::Q8 => half::widen(scale) * (f32::from(step) - 128.0),
            SmallKind::Q4 => half::widen(scale) * (f32::from(step) - 8.0),
        }
    }
}

/// The first number of the largest size, with its sign; NaN where one is.
#[inline(always)]
fn largest(x: &[f32; WIDTH]) -> f32 {
    let larger = |max: f32, &x: &f32| if x.abs() <= max.abs() || max.is_nan() { max } else { x };
    x.iter().fold(0.0, larger)
}

/// 1/d; a scale so small that it has no inverse is as good as none.
#[inline(always)]
fn inverse(d: f32) -> f32 {
    let inverse = 1.0 / d;
    if inverse.is_infinite() { 0.0 } else { inverse }
}

impl fmt::Display for SmallKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SmallKind {
    type Err = ();

    fn from_str(name: &str) -> Result<SmallKind, ()> {
        SmallKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back(kind: SmallKind, x: &[f32; WIDTH]) -> [f32; WIDTH] {
        let Rounded { scale, steps } = kind.round(x);
        steps.map(|step| kind.number(scale, step))
    }

    #[test]
    fn blocks_by_hand() {
        let mut x = [0.0; WIDTH];
        x[..6].copy_from_slice(&[63.5, -63.5, 0.25, -0.25, 0.2, 1.3]);
        // The largest is 127 times the scale 0.5; halves go away from 0.
        assert_eq!(back(SmallKind::Q8, &x)[..6], [63.5, -63.5, 0.5, -0.5, 0.0, 1.5]);
        x[..6].copy_from_slice(&[-4.0, 4.0, 3.4, 0.25, -0.25, 0.2]);
        // The largest is −8 times the scale 0.5, and 7 the highest; halves go up.
        assert_eq!(back(SmallKind::Q4, &x)[..6], [-4.0, 3.5, 3.5, 0.5, 0.0, 0.0]);
        x[..2].copy_from_slice(&[4.0, -4.0]);
        assert_eq!(back(SmallKind::Q4, &x)[..6], [4.0, -3.5, 3.5, 0.0, -0.5, 0.0]);
        assert_eq!(back(SmallKind::Bf16, &x), x.map(|x| number::widen(number::round(x))));
        assert_eq!(SmallKind::ALL.map(SmallKind::block_bytes), [64, 34, 18]);
        assert_eq!("q4".parse(), Ok(SmallKind::Q4));
    }

    /// Numbers of all sizes that scales allow, one size a block.
    fn blocks() -> impl Iterator<Item = [f32; WIDTH]> {
        (-52..=18).map(|size| {
            std::array::from_fn(|i| {
                ((i * i * 37 + 11 * i) as f32 % 61.0 - 30.0) * 2f32.powi(size) / 30.0
            })
        })
    }

    #[test]
    fn what_was_rounded_is_off_by_half_a_step_and_stays_when_rounded_again() {
        for x in blocks() {
            let most = x.iter().fold(0.0f32, |most, x| most.max(x.abs()));
            for (kind, steps, room) in [(SmallKind::Q8, 127.0, 0.5), (SmallKind::Q4, 8.0, 1.0)] {
                let y = back(kind, &x);
                // A scale as f16 is off by a 2048th of itself, or by 2⁻²⁵ near 0.
                let off = room * most / steps * 1.001 + (most / 2048.0).max(steps * 2f32.powi(-25));
                assert!(
                    x.iter().zip(&y).all(|(x, y)| (x - y).abs() <= off),
                    "{kind}: {x:?} as {y:?}"
                );
                assert_eq!(back(kind, &y), y, "{kind}");
            }
            let y = back(SmallKind::Bf16, &x);
            assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() <= x.abs() / 256.0));
            assert_eq!(back(SmallKind::Bf16, &y), y);
        }
        for kind in SmallKind::ALL {
            assert_eq!(back(kind, &[0.0; WIDTH]), [0.0; WIDTH]);
            assert_eq!(back(kind, &[1e-45; WIDTH]), [0.0; WIDTH]);
        }
    }

    #[test]
    fn a_scale_says_what_does_not_fit() {
        for kind in [SmallKind::Q8, SmallKind::Q4] {
            let scale_of = |x: f32| {
                let mut block = [1.0; WIDTH];
                block[7] = x;
                kind.round(&block).scale & 0x7fff
            };
            assert!(scale_of(1e5) < 0x7c00);
            assert_eq!((scale_of(-1e8), scale_of(f32::INFINITY)), (0x7c00, 0x7c00));
            assert_eq!(scale_of(f32::NAN), 0x7e00);
        }
    }
}
