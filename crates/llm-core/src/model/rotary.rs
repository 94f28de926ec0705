//! Rotary positions, described: how fast each pair of channels is rotated.

use crate::base::{Error, Result};
use crate::kernels::rotary::Angles;
use crate::message;
use std::f64::consts::TAU;

/// Rotary position embeddings: frequencies `f_i = θ^(−2i/R)`, see [`kernels::rotary`].
///
/// [`kernels::rotary`]: crate::kernels::rotary
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rotary {
    /// θ: base of the frequencies, above 1.
    pub theta: f64,
    /// R: channels of a head that are rotated, an even number; D by default.
    pub width: Option<usize>,
    /// Scaling for contexts longer than those of the first training.
    pub scaling: Option<RotaryScaling>,
}

/// Llama 3's scaling of rotary positions: low frequencies become lower still, so that a model trained
/// on texts of `original` positions reads longer ones. A pair of frequency f goes around once in 2π/f
/// positions.
///
/// ```text
/// f'  =  f                        up to original/high positions in a round
///     =  f/factor                 from original/low on
///     =  (1 − s)·f/factor + s·f   between:  s = (original·f/2π − low) / (high − low)
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RotaryScaling {
    /// Divisor of the lowest frequencies, 1 or more.
    pub factor: f64,
    /// Pairs with at most `low` rounds in `original` positions are scaled wholly.
    pub low: f64,
    /// Pairs with at least `high` rounds are not scaled; above `low`.
    pub high: f64,
    /// Positions of the texts of the first training.
    pub original: usize,
}

/// Rotary positions of base θ: all channels, no scaling.
impl From<f64> for Rotary {
    fn from(theta: f64) -> Rotary {
        Rotary::new(theta)
    }
}

impl Rotary {
    /// Rotary positions that turn all channels, without scaling.
    pub fn new(theta: f64) -> Rotary {
        Rotary { theta, width: None, scaling: None }
    }

    /// Rotary positions that turn the first R channels of a head, without scaling.
    pub fn partial(theta: f64, width: usize) -> Rotary {
        Rotary { width: Some(width), ..Rotary::new(theta) }
    }

    /// f_i for heads of D channels, `[R/2]`.
    pub fn frequencies(&self, head_dim: usize) -> Vec<f64> {
        let width = self.width.unwrap_or(head_dim);
        let frequency = |i: usize| libm::pow(self.theta, -2.0 * i as f64 / width as f64);
        let scaled = |f| self.scaling.map_or(f, |scaling| scaling.scaled(f));
        (0..width / 2).map(|i| scaled(frequency(i))).collect()
    }

    /// The angles of positions 0 up to `positions`.
    pub fn angles(&self, head_dim: usize, positions: usize) -> Angles {
        Angles::of_frequencies(&self.frequencies(head_dim), positions)
    }

    /// Validates the description against heads of D channels.
    ///
    /// # Errors
    /// [`Error::Config`] naming the field.
    pub(super) fn check(&self, head_dim: usize) -> Result<()> {
        let width = self.width.unwrap_or(head_dim);
        let fits = (1..=head_dim).contains(&width) && width.is_multiple_of(2);
        let field = if self.width.is_some() { "rotary_dim" } else { "head_dim" };
        let reason =
            message!("{} channels of a head of {} cannot be turned in pairs", width, head_dim);
        Error::unless(fits, field, reason)?;
        let fits = self.theta > 1.0 && self.theta.is_finite();
        let reason = message!("{} is not a finite number above 1", self.theta);
        Error::unless(fits, "rope_theta", reason)?;
        let invalid = self.scaling.filter(|scaling| !scaling.is_valid());
        invalid.map_or(Ok(()), |RotaryScaling { factor, low, high, original }| {
            let reason = message!(
                "invalid scaling: by {} between {} and {} rounds in {} positions",
                factor,
                low,
                high,
                original
            );
            Err(Error::config("rotary", reason))
        })
    }
}

impl RotaryScaling {
    /// The scaled frequency f'.
    fn scaled(&self, f: f64) -> f64 {
        let rounds = self.original as f64 * f / TAU;
        let share = ((rounds - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        (1.0 - share) * f / self.factor + share * f
    }

    fn is_valid(&self) -> bool {
        let RotaryScaling { factor, low, high, original } = *self;
        let finite = factor.is_finite() && high.is_finite();
        finite && factor >= 1.0 && low > 0.0 && high > low && original > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LLAMA: RotaryScaling = RotaryScaling { factor: 8.0, low: 1.0, high: 4.0, original: 8192 };

    /// Llama 3.1's numbers at a few frequencies, worked out by hand.
    #[test]
    fn high_frequencies_stay_and_low_ones_are_scaled() {
        let rounds = |n: f64| n * TAU / 8192.0; // the frequency that goes around n times
        for (n, kept) in [(400.0, 1.0), (4.0, 1.0), (1.0, 0.125), (0.01, 0.125), (2.5, 0.5625)] {
            let got = LLAMA.scaled(rounds(n)) / rounds(n);
            assert!((got - kept).abs() < 1e-12, "{n}: {got}");
        }
        let none = RotaryScaling { factor: 1.0, ..LLAMA };
        assert!((none.scaled(0.001) - 0.001).abs() < 1e-18);
    }

    #[test]
    fn an_invalid_scaling_is_refused() {
        let rotary = |scaling| Rotary { scaling: Some(scaling), ..Rotary::new(10_000.0) };
        assert!(rotary(LLAMA).check(8).is_ok());
        for scaling in [
            RotaryScaling { factor: 0.5, ..LLAMA },
            RotaryScaling { factor: f64::NAN, ..LLAMA },
            RotaryScaling { factor: f64::INFINITY, ..LLAMA },
            RotaryScaling { low: 0.0, ..LLAMA },
            RotaryScaling { low: 4.0, ..LLAMA },
            RotaryScaling { high: f64::INFINITY, ..LLAMA },
            RotaryScaling { original: 0, ..LLAMA },
        ] {
            let refused = rotary(scaling).check(8).unwrap_err().to_string();
            assert!(refused.contains("invalid scaling"), "{refused}");
        }
    }
}
