//! Which numbers products multiply, and the scope that says so.

use crate::base::{choices, scoped};
use serde::{Deserialize, Serialize};
use std::cell::Cell;

/// What the two matrices of a product are rounded to before they are multiplied. The sums, and
/// everything outside products, are f32 in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// Not rounded.
    #[default]
    F32,
    /// bf16: the upper half of an f32, with 8 bits of precision.
    Bf16,
    /// f16: 11 bits of precision, and numbers from 6·10⁻⁸ to 65504. Emulated here; it is meant for GPUs,
    /// which have units for it.
    F16,
}

choices!(Precision, F32 = "f32", Bf16 = "bf16", F16 = "f16");

impl Precision {
    /// Bits of precision of the numbers that are multiplied.
    pub fn bits(self) -> usize {
        match self {
            Precision::F32 => 24,
            Precision::Bf16 => 8,
            Precision::F16 => 11,
        }
    }

    /// What a gradient is multiplied by before it is rounded, and its products are divided by: the power of two that
    /// brings its greatest number to between 1 and 2. In f16 a gradient would else become 0.
    pub(crate) fn lift(self, dy: &[f32]) -> f32 {
        if self != Precision::F16 {
            return 1.0;
        }
        let most = dy.iter().fold(0.0f32, |most, x| most.max(x.abs()));
        let exponent = most.to_bits() & 0x7f80_0000;
        if most.is_normal() { f32::from_bits((254 << 23) - exponent) } else { 1.0 }
    }
}

/// The nearest f16; ±∞ beyond 65504.
pub(super) fn to_f16(x: f32) -> f32 {
    let (size, bits) = (x.abs(), x.to_bits());
    let near = f32::from_bits(bits.wrapping_add(0xfff + (bits >> 13 & 1)) & !0x1fff).abs();
    // Steps of 2⁻²⁴ below the smallest with all bits, which are also the steps of f32 from 1/2 to 1.
    let near = if size < 1.0 / 16384.0 { (size + 0.5) - 0.5 } else { near };
    let near = if near > 65504.0 { f32::INFINITY } else { near };
    if x.is_nan() { x } else { near.copysign(x) }
}

thread_local! {
    static HERE: Cell<Precision> = const { Cell::new(Precision::F32) };
}

/// The precision of the scope that this thread is in: that of the innermost [`within`], f32
/// outside. An op looks when it is called, and its gradients are computed with the same.
pub fn precision() -> Precision {
    HERE.get()
}

/// Calls f in a scope of this precision: the ops that this thread calls inside multiply with it, as
/// in PyTorch's `autocast`. What they share out to other threads goes with them.
pub fn within<R>(precision: Precision, f: impl FnOnce() -> R) -> R {
    scoped(&HERE, precision, f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f16_has_eleven_bits_and_an_end() {
        for (x, wanted) in [
            (1.0 + 2f32.powi(-10), 1.0 + 2f32.powi(-10)),
            (1.0 + 2f32.powi(-11), 1.0),
            (-65504.0, -65504.0),
            (65519.0, 65504.0),
            (65520.0, f32::INFINITY),
            (-1e30, f32::NEG_INFINITY),
            (3e-8, 2f32.powi(-24)),
            (2e-8, 0.0),
        ] {
            assert_eq!(to_f16(x), wanted, "{x}");
        }
        assert!(to_f16(f32::NAN).is_nan());
        let lift = |most: f32| Precision::F16.lift(&[0.0, -most, most / 3.0]);
        assert_eq!([1.0, 1.9, 3.0, 1e-6].map(lift), [1.0, 1.0, 0.5, 2f32.powi(20)]);
        assert_eq!([0.0, f32::INFINITY].map(lift), [1.0, 1.0]);
    }

    #[test]
    fn a_scope_ends_where_it_ends() {
        assert_eq!(precision(), Precision::F32);
        let inner = within(Precision::Bf16, || {
            let inner = within(Precision::F32, precision);
            assert_eq!(precision(), Precision::Bf16);
            inner
        });
        assert_eq!((inner, precision()), (Precision::F32, Precision::F32));
        let caught = std::panic::catch_unwind(|| {
            within(Precision::Bf16, || std::panic::resume_unwind(Box::new(())))
        });
        assert!(caught.is_err());
        assert_eq!(precision(), Precision::F32);
        let other = within(Precision::Bf16, || std::thread::spawn(precision).join().unwrap());
        assert_eq!(other, Precision::F32);
    }
}
