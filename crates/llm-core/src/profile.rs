//! Where the time goes, and in which order: spans around ops, off by default.
//!
//! Every op opens a [`span`] for its forward, and the walk back opens one for each backward under
//! the same name; [`record`] sums their times. A function that is made of ops opens one with
//! [`enter`], which has a place in the [`sequence`] but no time of its own. Switched off, a span
//! costs one atomic load.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many recordings there are at the moment.
static ON: AtomicUsize = AtomicUsize::new(0);
static TIMES: Mutex<BTreeMap<(&'static str, Phase), Time>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// What this thread has opened since its [`sequence`] began, and how many of them are open.
    static TRAIL: RefCell<Option<(Vec<Opened>, usize)>> = const { RefCell::new(None) };
}

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
    /// Number of spans.
    pub calls: u64,
    /// Time of all spans together.
    pub total: Duration,
}

/// A span in the order of the step that it was opened in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The name of the op, or of the function made of ops.
    pub name: &'static str,
    /// Forward or backward.
    pub phase: Phase,
    /// Number of spans open around it.
    pub depth: usize,
}

/// Measures until it is dropped.
#[derive(Debug)]
#[must_use = "a span measures until it is dropped"]
pub struct Span {
    key: (&'static str, Phase),
    start: Option<Instant>,
    /// Whether the time belongs to the ops inside the span.
    is_outer: bool,
}

/// Opens a span for the forward of an op.
#[inline]
pub fn span(name: &'static str) -> Span {
    open(name, Phase::Forward)
}

/// Opens a span for a function that is made of ops: it is part of the [`sequence`], and not of the
/// sums of [`record`], which would count the ops' time twice.
#[inline]
pub fn enter(name: &'static str) -> Span {
    start((name, Phase::Forward), true)
}

#[inline]
pub(crate) fn open(name: &'static str, phase: Phase) -> Span {
    start((name, phase), false)
}

#[inline]
fn start(key: (&'static str, Phase), is_outer: bool) -> Span {
    let start = (ON.load(Ordering::Relaxed) > 0).then(|| follow(key));
    Span { key, start, is_outer }
}

/// Adds a span to this thread's sequence, if it has one; the time is now.
fn follow((name, phase): (&'static str, Phase)) -> Instant {
    TRAIL.with_borrow_mut(|trail| {
        if let Some((opened, depth)) = trail {
            opened.push(Opened { name, phase, depth: *depth });
            *depth += 1;
        }
    });
    Instant::now()
}

impl Drop for Span {
    fn drop(&mut self) {
        let Some(start) = self.start else { return };
        let elapsed = start.elapsed();
        TRAIL.with_borrow_mut(|trail| {
            if let Some((_, depth)) = trail {
                *depth = depth.saturating_sub(1); // it may have been open before the sequence
            }
        });
        if self.is_outer {
            return;
        }
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
    let result = switched_on(f);
    let times = std::mem::take(&mut *TIMES.lock().unwrap_or_else(PoisonError::into_inner));
    (result, times)
}

/// Runs `f` with spans on, and returns what it returned and the spans that it opened, in order.
/// Those of other threads are not among them: whatever hands out work opens its span before.
pub fn sequence<T>(f: impl FnOnce() -> T) -> (T, Vec<Opened>) {
    TRAIL.set(Some((Vec::new(), 0)));
    let result = switched_on(f);
    let (opened, _) = TRAIL.take().unwrap_or_default();
    (result, opened)
}

fn switched_on<T>(f: impl FnOnce() -> T) -> T {
    /// Switches off also when `f` panics.
    struct Off;
    impl Drop for Off {
        fn drop(&mut self) {
            ON.fetch_sub(1, Ordering::Relaxed);
        }
    }
    ON.fetch_add(1, Ordering::Relaxed);
    let _off = Off;
    f()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tensor, ops};

    #[test]
    fn forward_and_backward_are_counted_under_one_name() {
        let x = Tensor::parameter(ndarray::ArrayD::ones(vec![4]));
        let (result, times) = record(|| {
            let _outer = enter("made of ops");
            ops::sum(&ops::gelu(&x).unwrap()).unwrap().backward()
        });
        assert!(result.is_ok());
        for phase in [Phase::Forward, Phase::Backward] {
            assert!(times[&("gelu", phase)].calls >= 1);
            assert!(times[&("sum", phase)].calls >= 1);
        }
        assert!(!times.contains_key(&("made of ops", Phase::Forward)));
    }

    #[test]
    fn a_sequence_has_the_spans_of_its_thread_in_order() {
        let x = Tensor::parameter(ndarray::ArrayD::ones(vec![4]));
        let (result, opened) = sequence(|| {
            let _outer = enter("outer");
            std::thread::scope(|scope| drop(scope.spawn(|| drop(span("elsewhere"))).join()));
            ops::sum(&ops::gelu(&x).unwrap()).unwrap().backward()
        });
        assert!(result.is_ok());
        let wanted = [
            ("outer", Phase::Forward, 0),
            ("gelu", Phase::Forward, 1),
            ("sum", Phase::Forward, 1),
            ("backward", Phase::Forward, 1),
            ("sum", Phase::Backward, 2),
            ("gelu", Phase::Backward, 2),
        ];
        assert_eq!(opened, wanted.map(|(name, phase, depth)| Opened { name, phase, depth }));
        assert_eq!(sequence(|| ()).1, []);
    }
}
