//! The learning rate as a pure function of the step.

use crate::base::{Error, Result, choices};
use crate::message;
use serde::{Deserialize, Serialize};

/// The shape of the course after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScheduleKind {
    /// The peak rate for ever.
    Constant,
    /// Half a cosine from the peak to the minimum.
    Cosine,
    /// A straight line from the peak to the minimum.
    Linear,
    /// Warm-up, stable, decay: the peak until the last fifth of what follows the
    /// warm-up, then a line to the minimum.
    Wsd,
}

choices!(ScheduleKind, Constant = "constant", Cosine = "cosine", Linear = "linear", Wsd = "wsd");

/// Warm-up in a line to `lr`, then down to `min_lr` at step `decay_steps`, then `min_lr`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// The shape.
    pub kind: ScheduleKind,
    /// The peak.
    pub lr: f32,
    /// The end.
    pub min_lr: f32,
    /// Steps until the peak.
    pub warmup_steps: u64,
    /// The horizon: steps until the end. Stored with a run and never stretched by resuming;
    /// without meaning for a constant rate.
    pub decay_steps: u64,
}

impl Schedule {
    /// Always `lr`.
    pub fn constant(lr: f32) -> Schedule {
        Schedule { kind: ScheduleKind::Constant, lr, min_lr: lr, warmup_steps: 0, decay_steps: 0 }
    }

    /// Whether the rate, after `step` updates, has decayed to the minimum at which it stays.
    pub fn is_over(&self, step: u64) -> bool {
        self.kind != ScheduleKind::Constant && step >= self.decay_steps.max(self.warmup_steps)
    }

    /// The rate of the update that follows `step` earlier ones.
    ///
    /// Warm-up: lr·(step + 1)/(warmup + 1), so that the first rate is not 0 and the peak comes
    /// right after. Decay with p = (step − warmup)/(decay − warmup), for the cosine:
    /// min + (lr − min)·½(1 + cos πp).
    pub fn at(&self, step: u64) -> f32 {
        let (lr, min) = (f64::from(self.lr), f64::from(self.min_lr));
        if step < self.warmup_steps {
            return (lr * step.saturating_add(1) as f64 / self.warmup_steps.saturating_add(1) as f64)
                as f32;
        }
        if self.kind == ScheduleKind::Constant {
            return self.lr;
        }
        if self.is_over(step) {
            return self.min_lr;
        }
        let p = (step - self.warmup_steps) as f64 / (self.decay_steps - self.warmup_steps) as f64;
        let share = match self.kind {
            ScheduleKind::Constant => 1.0,
            ScheduleKind::Cosine => 0.5 * (1.0 + libm::cos(std::f64::consts::PI * p)),
            ScheduleKind::Linear => 1.0 - p,
            ScheduleKind::Wsd => ((1.0 - p) / 0.2).min(1.0),
        };
        (min + (lr - min) * share) as f32
    }

    /// Validates each setting's range.
    ///
    /// # Errors
    /// [`Error::Config`] naming the setting.
    pub fn check(&self) -> Result<()> {
        let Schedule { lr, min_lr, .. } = *self;
        let fits = lr > 0.0 && lr.is_finite();
        Error::unless(fits, "lr", message!("{} is not a finite number above 0", lr))?;
        let within = (0.0..=lr).contains(&min_lr);
        Error::unless(within, "min_lr", message!("{} is outside 0..={}", min_lr, lr))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(kind: ScheduleKind) -> Schedule {
        Schedule { kind, lr: 1.0, min_lr: 0.1, warmup_steps: 3, decay_steps: 13 }
    }

    #[test]
    fn corners() {
        for kind in [ScheduleKind::Cosine, ScheduleKind::Linear, ScheduleKind::Wsd] {
            let s = schedule(kind);
            assert_eq!([s.at(0), s.at(1), s.at(2)], [0.25, 0.5, 0.75]);
            assert_eq!(s.at(3), 1.0);
            assert!(s.at(12) > 0.1);
            assert_eq!([s.at(13), s.at(1_000_000)], [0.1, 0.1]);
            assert!((3..13).all(|i| s.at(i) >= s.at(i + 1)));
        }
        assert!((schedule(ScheduleKind::Cosine).at(8) - 0.55).abs() < 1e-6);
        assert!((schedule(ScheduleKind::Linear).at(8) - 0.55).abs() < 1e-6);
        assert_eq!(schedule(ScheduleKind::Wsd).at(10), 1.0);
        assert_eq!(Schedule::constant(0.3).at(u64::MAX), 0.3);
    }

    #[test]
    fn settings_are_checked() {
        assert!(schedule(ScheduleKind::Cosine).check().is_ok());
        assert!(Schedule::constant(0.0).check().is_err());
        assert!(Schedule::constant(f32::NAN).check().is_err());
        assert!(Schedule { min_lr: 2.0, ..schedule(ScheduleKind::Cosine) }.check().is_err());
    }

    /// A horizon shorter than the warm-up must not divide by zero or wrap.
    #[test]
    fn a_short_horizon_ends_at_the_minimum() {
        let s = Schedule { warmup_steps: 5, decay_steps: 4, ..schedule(ScheduleKind::Cosine) };
        assert_eq!(s.at(5), 0.1);
    }
}
