//! Collectives between the processes that share one step, such that all come to the same bytes.
//!
//! A step is a tree over micro-batches (see [`Tree`](crate::train::Tree)). Rank r of R takes the
//! r-th of R equal, aligned groups of them, which is a whole subtree; what is left of the tree is
//! one over the ranks' numbers. A crew adds by exactly that tree, so a result does not depend on
//! how many there are.
//!
//! | file | holds |
//! |---|---|
//! | `collective.rs` | [`Crew`]: sums, gathering and sharing, made of exchanges between two |
//! | `buckets.rs` | many lists as buckets, and what of them is whose share |
//! | `in_process.rs` | a crew of threads, for tests and for counting messages |
//!
//! The crate `llm-crew-mpi` has the crew of processes.

mod buckets;
mod collective;
mod in_process;
#[cfg(test)]
mod tests;

#[doc(hidden)]
pub use buckets::{Bucket, Piece, buckets, buckets_of};
pub use collective::Crew;
#[doc(hidden)]
pub use collective::{Spans, double, halve};
pub use in_process::{InProcess, Traffic};

use crate::base::{CrewError, Error, Result};

/// The micro-batches of rank `rank` of `size`: an aligned group, a subtree of its own.
///
/// # Errors
/// [`CrewError::Size`] unless `size` is a power of two that divides their number.
pub fn micro_batches(rank: usize, size: usize, all: u64) -> Result<std::ops::Range<u64>> {
    let members = size as u64;
    if !size.is_power_of_two() || !all.is_multiple_of(members) || rank >= size {
        return Err(Error::Crew(CrewError::Size { size, micro_batches: all }));
    }
    let each = all / members;
    Ok(rank as u64 * each..(rank as u64 + 1) * each)
}
