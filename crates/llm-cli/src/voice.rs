//! Which of several processes speaks: the first. What the others have to say is an error, with their
//! number before it.

use crate::messages::said;
use llm_core::message;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of this process among those that work on one run.
static RANK: AtomicUsize = AtomicUsize::new(0);

/// This process is that one of several, until it ends.
pub fn is_of(rank: usize) {
    RANK.store(rank, Ordering::Relaxed);
}

/// Whether another process speaks for this one.
pub fn is_silent() -> bool {
    RANK.load(Ordering::Relaxed) > 0
}

/// What begins the errors of this process.
pub fn prefix() -> String {
    match RANK.load(Ordering::Relaxed) {
        0 => String::new(),
        rank => format!("{} ", said(message!("process {}:", rank))),
    }
}
