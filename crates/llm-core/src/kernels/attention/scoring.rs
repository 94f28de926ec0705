//! How a score comes about, and which positions a query scores.

use super::super::math::tanh;
use super::super::simd::simd_kernel;

/// S = q·k·scale, with a soft cap S = c·tanh(q·k·scale/c), over the last positions of a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scoring {
    /// The factor of q·k, usually 1/√D.
    pub scale: f32,
    /// c: no score is beyond ±c, and small ones stay what they are; `None`: no cap.
    pub soft_cap: Option<f32>,
    /// Positions visible to a query, its own among them; `usize::MAX`: all up to its own.
    pub window: usize,
}

impl Scoring {
    /// Heads of D channels over the whole text: the factor 1/√D, no cap.
    pub fn new(head_dim: usize) -> Scoring {
        Scoring::from(1.0 / (head_dim as f32).sqrt())
    }
}

/// A factor alone: no cap, the whole text.
impl From<f32> for Scoring {
    fn from(scale: f32) -> Scoring {
        Scoring { scale, soft_cap: None, window: usize::MAX }
    }
}

simd_kernel! {
    /// s ← c·tanh(s/c).
    pub(super) fn cap(scores: &mut [f32], c: f32) {
        scores.iter_mut().for_each(|s| *s = c * tanh::<FMA>(*s / c));
    }
}

simd_kernel! {
    /// [`cap`], and in `slopes` its derivative 1 − tanh²(s/c).
    pub(super) fn cap_with_slopes(scores: &mut [f32], slopes: &mut [f32], c: f32) {
        for (s, slope) in scores.iter_mut().zip(slopes) {
            let t = tanh::<FMA>(*s / c);
            *s = c * t;
            *slope = 1.0 - t * t;
        }
    }
}
