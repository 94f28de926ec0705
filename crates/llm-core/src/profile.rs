//! Where the time goes: spans around ops, off unless somebody asks.
//!
//! Every op opens a [`span`] for its forward, and the walk back opens one for each backward under
//! the same name. Switched off, a span costs one atomic load.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

static ON: AtomicBool = AtomicBool::new(false);
static TIMES: Mutex<BTreeMap<(&'static str, Phase), Time>> = Mutex::new(BTreeMap::new());

/// What a span belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Computing a value.
    Forward,
    /// Computing gradients.
    Backward,
}

/// The time of all spans of one name and phase.
#[derive(Clone, Copy, Debug, Default)]
pub struct Time {
    /// How many there were.
    pub calls: u64,
    /// Their time in all.
    pub total: Duration,
}

/// Measures until it is dropped.
#[must_use = "a span measures until it is dropped"]
pub struct Span {
    key: (&'static str, Phase),
    start: Option<Instant>,
}

/// Opens a span for the forward of an op.
#[inline]
pub fn span(name: &'static str) -> Span {
    open(name, Phase::Forward)
}

#[inline]
pub(crate) fn open(name: &'static str, phase: Phase) -> Span {
    let start = ON.load(Ordering::Relaxed).then(Instant::now);
    Span { key: (name, phase), start }
}

impl Drop for Span {
    fn drop(&mut self) {
        let Some(start) = self.start else { return };
        let elapsed = start.elapsed();
        let mut times = TIMES.lock().unwrap_or_else(PoisonError::into_inner);
        let time = times.entry(self.key).or_default();
        time.calls += 1;
        time.total += elapsed;
    }
}

/// Runs `f` with spans on, and returns what it returned and the time of every name and phase.
/// Spans of other threads at the same time are counted too: for measuring, not for serving.
pub fn record<T>(f: impl FnOnce() -> T) -> (T, BTreeMap<(&'static str, Phase), Time>) {
    TIMES.lock().unwrap_or_else(PoisonError::into_inner).clear();
    ON.store(true, Ordering::Relaxed);
    let result = f();
    ON.store(false, Ordering::Relaxed);
    let times = std::mem::take(&mut *TIMES.lock().unwrap_or_else(PoisonError::into_inner));
    (result, times)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tensor, ops};

    #[test]
    fn forward_and_backward_are_counted_under_one_name() {
        let x = Tensor::parameter(ndarray::ArrayD::ones(vec![4]));
        let (result, times) = record(|| ops::sum(&ops::gelu(&x).unwrap()).unwrap().backward());
        assert!(result.is_ok());
        for phase in [Phase::Forward, Phase::Backward] {
            assert!(times[&("gelu", phase)].calls >= 1);
            assert!(times[&("sum", phase)].calls >= 1);
        }
    }
}
