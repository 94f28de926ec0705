//! Rotary positions: how fast each pair of channels is turned, and the angles of all positions.

use llm_core::base::Message;
use llm_core::kernels::rotary::Angles;
use llm_core::message;
use std::f64::consts::TAU;
use std::sync::{Arc, Mutex, PoisonError};

/// What it is.
#[derive(Clone, Debug)]
pub(crate) struct Rotary {
    /// θ.
    pub(crate) theta: f64,
    /// R, channels of a head that are turned; none: all.
    pub(crate) width: Option<usize>,
    /// None: as θ says.
    pub(crate) scaling: Option<RotaryScaling>,
    /// The angles of the positions that there were so far.
    angles: Arc<Mutex<Option<Arc<Angles>>>>,
}

/// Pairs that turn slowly are turned more slowly still, as Llama 3 has it: a model that has learnt
/// texts of `original` positions then reads longer ones. A pair goes once around in 2π/f positions.
///
/// ```text
/// f'  =  f                        up to original/high positions in a round
///     =  f/factor                 from original/low on
///     =  (1 − s)·f/factor + s·f   between:  s = (original·f/2π − low) / (high − low)
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RotaryScaling {
    /// By how much the slowest pairs are slowed down, 1 or more.
    pub factor: f64,
    /// Pairs that go around at most so often in `original` positions are slowed down wholly.
    pub low: f64,
    /// Pairs that go around at least so often are not; above `low`.
    pub high: f64,
    /// Positions of the texts that were learnt first.
    pub original: usize,
}

impl RotaryScaling {
    /// What becomes of a frequency.
    fn slowed(&self, f: f64) -> f64 {
        let rounds = self.original as f64 * f / TAU;
        let share = ((rounds - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        (1.0 - share) * f / self.factor + share * f
    }

    /// Why it cannot be, if so.
    pub(crate) fn wrong(&self) -> Option<Message> {
        let RotaryScaling { factor, low, high, original } = *self;
        let fits = factor >= 1.0 && factor.is_finite() && low > 0.0 && high.is_finite();
        if fits && high > low && original > 0 {
            return None;
        }
        Some(message!(
            "a scaling by {} between {} and {} rounds in {} positions is none",
            factor,
            low,
            high,
            original
        ))
    }
}

impl Rotary {
    pub(crate) fn new(theta: f64, width: Option<usize>) -> Rotary {
        Rotary { theta, width, scaling: None, angles: Arc::default() }
    }

    pub(crate) fn scaled(self, scaling: RotaryScaling) -> Rotary {
        Rotary { scaling: Some(scaling), ..Rotary::new(self.theta, self.width) }
    }

    /// Those of at least so many positions, for heads of `head_dim` channels.
    pub(crate) fn angles(&self, positions: usize, head_dim: usize) -> Arc<Angles> {
        let width = self.width.unwrap_or(head_dim);
        let mut known = self.angles.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some(angles) if angles.positions() >= positions && angles.width() == width => {
                angles.clone()
            }
            _ => {
                let more = positions.next_power_of_two(); // so that a growing text asks seldom
                let angles = match &self.scaling {
                    None => Angles::new(self.theta, width, more),
                    Some(scaling) => Angles::of_frequencies(&self.slowed(scaling, width), more),
                };
                known.insert(Arc::new(angles)).clone()
            }
        }
    }

    /// f_i = θ^(−2i/R), and what becomes of it.
    fn slowed(&self, scaling: &RotaryScaling, width: usize) -> Vec<f64> {
        let frequency = |i: usize| self.theta.powf(-2.0 * i as f64 / width as f64);
        (0..width / 2).map(|i| scaling.slowed(frequency(i))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Llama 3.1's numbers at a few frequencies, worked out by hand.
    #[test]
    fn fast_pairs_stay_and_slow_ones_are_slowed_down() {
        let scaling = RotaryScaling { factor: 8.0, low: 1.0, high: 4.0, original: 8192 };
        let rounds = |n: f64| n * TAU / 8192.0; // the frequency that goes around n times
        for (n, kept) in [(400.0, 1.0), (4.0, 1.0), (1.0, 0.125), (0.01, 0.125), (2.5, 0.5625)] {
            let got = scaling.slowed(rounds(n)) / rounds(n);
            assert!((got - kept).abs() < 1e-12, "{n}: {got}");
        }
        let none = RotaryScaling { factor: 1.0, ..scaling };
        assert!((none.slowed(0.001) - 0.001).abs() < 1e-18);
    }

    #[test]
    fn a_scaling_that_cannot_be_is_named() {
        let fine = RotaryScaling { factor: 8.0, low: 1.0, high: 4.0, original: 8192 };
        assert_eq!(fine.wrong(), None);
        for scaling in [
            RotaryScaling { factor: 0.5, ..fine },
            RotaryScaling { factor: f64::NAN, ..fine },
            RotaryScaling { factor: f64::INFINITY, ..fine },
            RotaryScaling { low: 0.0, ..fine },
            RotaryScaling { low: 4.0, ..fine },
            RotaryScaling { high: f64::INFINITY, ..fine },
            RotaryScaling { original: 0, ..fine },
        ] {
            let why = scaling.wrong().map(|why| why.to_string());
            assert!(why.is_some_and(|why| why.contains("is none")), "{scaling:?}");
        }
    }
}
