//! Spikes: a loss or gradient norm far above those of the last steps.
//!
//! z = (x − mean)/deviation over the last [`WINDOW`] steps. The guard's state follows from the steps
//! it was given, so a resumed run that gives them again decides as the uninterrupted one.
//!
//! Reference: the outlier detector of llm.c. Unlike there, values that are not finite never reach
//! the window: they end the run before.

use super::StepReport;
use super::hooks::{Ending, Flow, Hooks, Verdict};
use super::work::Work;
use crate::base::Result;
use crate::checkpoint::Snapshot;
use std::collections::VecDeque;

/// Steps that a value is compared with; before there are as many, nothing is a spike.
pub const WINDOW: usize = 128;

/// Says which steps to skip.
#[derive(Clone, Debug)]
pub struct SpikeGuard {
    limit: f64,
    losses: VecDeque<f32>,
    norms: VecDeque<f32>,
    in_a_row: u32,
}

/// How far a step stands out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spike {
    /// Deviation of the loss, in standard deviations; 0 while the window is not full.
    pub loss_z: f64,
    /// Deviation of the gradient norm, in standard deviations.
    pub norm_z: f64,
}

impl SpikeGuard {
    /// Skips in a row after which a run is given up.
    pub const MOST_IN_A_ROW: u32 = 10;

    /// A guard that skips what stands out by more than `limit` standard deviations.
    pub fn new(limit: f32) -> SpikeGuard {
        let space = || VecDeque::with_capacity(WINDOW);
        SpikeGuard { limit: limit.into(), losses: space(), norms: space(), in_a_row: 0 }
    }

    /// Takes an earlier step, as it was logged: all that a run has done, or at least the last
    /// [`WINDOW`] + [`MOST_IN_A_ROW`](SpikeGuard::MOST_IN_A_ROW).
    pub fn remember(&mut self, loss: f32, norm: f32) {
        let _ = self.compare(loss, norm);
    }

    fn keep(&mut self, loss: f32, norm: f32) {
        for (window, value) in [(&mut self.losses, loss), (&mut self.norms, norm)] {
            if window.len() == WINDOW {
                window.pop_front();
            }
            window.push_back(value);
        }
    }

    /// Compares a step with those before it and remembers it; `Some`: skip it.
    pub fn compare(&mut self, loss: f32, norm: f32) -> Option<Spike> {
        let spike = Spike { loss_z: z(&self.losses, loss), norm_z: z(&self.norms, norm) };
        self.keep(loss, norm);
        let skip = spike.loss_z > self.limit || spike.norm_z > self.limit;
        self.in_a_row = if skip { self.in_a_row + 1 } else { 0 };
        skip.then_some(spike)
    }

    /// Skips since the last step that was not skipped.
    pub fn in_a_row(&self) -> u32 {
        self.in_a_row
    }
}

/// Leaves out the updates of spikes, and gives the run up after
/// [`MOST_IN_A_ROW`](SpikeGuard::MOST_IN_A_ROW) of them.
impl Hooks for SpikeGuard {
    fn check(&mut self, report: &StepReport, _: &mut dyn Work) -> Result<Verdict> {
        let spike = self.compare(report.loss, report.grad_norm);
        Ok(if spike.is_some() { Verdict::Skip } else { Verdict::Update })
    }

    fn before_next(&mut self, _: Snapshot<'_>, _: u64) -> Result<Flow> {
        let lost = self.in_a_row >= SpikeGuard::MOST_IN_A_ROW;
        Ok(if lost { Flow::Break(Ending::NoProgress) } else { Flow::Continue(()) })
    }
}

/// 0 while the window is not full or all its values are equal.
fn z(window: &VecDeque<f32>, value: f32) -> f64 {
    if window.len() < WINDOW {
        return 0.0;
    }
    let n = WINDOW as f64;
    let mean = window.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
    let variance = window.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / n;
    if variance > 0.0 { (f64::from(value) - mean) / variance.sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordinary(i: usize) -> f32 {
        2.0 + ((i * 37) % 101) as f32 / 100.0
    }

    #[test]
    fn a_planted_spike_stands_out_and_nothing_else_does() {
        let mut guard = SpikeGuard::new(5.0);
        for i in 0..1000 {
            assert_eq!(guard.compare(ordinary(i), ordinary(i + 7)), None, "step {i}");
        }
        let spike = guard.compare(10.0, 2.5).unwrap();
        assert!(spike.loss_z > 5.0 && spike.norm_z.abs() < 3.0, "{spike:?}");
        assert!(guard.compare(2.5, 10.0).unwrap().norm_z > 5.0);
        assert_eq!(guard.in_a_row(), 2);
        assert_eq!(guard.compare(2.5, 2.5), None);
        assert_eq!(guard.in_a_row(), 0);
    }

    #[test]
    fn a_window_that_is_not_full_knows_no_spikes() {
        let mut guard = SpikeGuard::new(1.0);
        assert!((0..WINDOW).all(|i| guard.compare(if i == 60 { 1e9 } else { 1.0 }, 1.0).is_none()));
        let mut flat = SpikeGuard::new(1.0);
        assert!((0..2 * WINDOW).all(|_| flat.compare(1.0, 1.0).is_none()));
    }

    #[test]
    fn what_is_remembered_is_all_there_is() {
        let mut through = SpikeGuard::new(2.0);
        for i in 0..500 {
            let _ = through.compare(ordinary(i), ordinary(2 * i));
        }
        let spikes = [20.0, 30.0];
        spikes.iter().for_each(|x| assert!(through.compare(*x, 2.5).is_some()));
        let mut resumed = SpikeGuard::new(2.0);
        let first = 500 - WINDOW - SpikeGuard::MOST_IN_A_ROW as usize;
        (first..500).for_each(|i| resumed.remember(ordinary(i), ordinary(2 * i)));
        spikes.iter().for_each(|x| resumed.remember(*x, 2.5));
        assert_eq!((through.in_a_row(), resumed.in_a_row()), (2, 2));
        for i in 500..600 {
            let value = if i % 50 == 7 { 9.0 } else { ordinary(i) };
            assert_eq!(through.compare(value, 2.5), resumed.compare(value, 2.5));
        }
    }
}
