//! Who works on a step: one process alone, or several that come to the same bytes.
//!
//! A step is a tree over micro-batches (see [`Tree`](crate::train::Tree)). Member r of R takes the
//! r-th of R equal, aligned groups of them, which is a whole subtree; what is left of the tree is
//! one over the members' numbers. A crew adds by exactly that tree, so a result does not depend on
//! how many there are.
//!
//! | file | holds |
//! |---|---|
//! | `collective.rs` | sums, gathering and sharing, made of exchanges between two |
//! | `buckets.rs` | many lists laid end to end, and what of them is whose share |
//! | `in_process.rs` | a crew of threads, for tests and for counting messages |
//!
//! The crate `llm-crew-mpi` has the crew of processes.

mod buckets;
mod collective;
mod in_process;
#[cfg(test)]
mod tests;

pub use buckets::{Bucket, Piece, buckets};
pub use collective::{Spans, double, halve};
pub use in_process::{InProcess, Traffic};

use crate::base::{CrewError, Error, Result};

/// Members of a crew. Each calls the same methods in the same order; a call ends when all those
/// that it needs have made theirs.
///
/// An implementation says who it is and carries numbers from one member to another. What is made
/// of that, the order of additions above all, is the same for every crew.
pub trait Crew: std::fmt::Debug + Send {
    /// The number of this member, from 0.
    fn rank(&self) -> usize;

    /// How many members there are: a power of two.
    fn size(&self) -> usize;

    /// Sends `give` to member `with` and takes as many numbers from it as fit into `take`. Both
    /// call this, each with the other's number, and with lengths that fit; one may be 0.
    ///
    /// # Errors
    /// [`Error::Crew`](crate::Error::Crew).
    fn exchange(&mut self, with: usize, give: &[f32], take: &mut [f32]) -> Result<()>;

    /// [`Crew::exchange`] of bytes.
    ///
    /// # Errors
    /// [`Error::Crew`](crate::Error::Crew).
    fn exchange_bytes(&mut self, with: usize, give: &[u8], take: &mut [u8]) -> Result<()>;

    /// x ← Σ over the members, by the binary tree over their numbers: (0 + 1) + (2 + 3).. The same
    /// bits for all.
    ///
    /// # Errors
    /// [`Error::Crew`](crate::Error::Crew).
    fn sum(&mut self, x: &mut [f32]) -> Result<()> {
        let spans = halve(self, x, |span| span.start + span.len() / 2)?;
        double(self, x, spans)
    }

    /// The blocks of all members, one after the other in the order of their numbers; `mine` is this
    /// member's, and all have the same length.
    ///
    /// # Errors
    /// [`Error::Crew`](crate::Error::Crew).
    fn gather(&mut self, mine: &[u8]) -> Result<Vec<u8>> {
        collective::gather(self, mine)
    }

    /// Bytes of member 0, for all.
    ///
    /// # Errors
    /// [`Error::Crew`](crate::Error::Crew).
    fn share(&mut self, bytes: &mut [u8]) -> Result<()> {
        collective::share(self, bytes)
    }

    /// Do all have the same of `what`, a word in the plural, told by a fingerprint?
    ///
    /// # Errors
    /// [`CrewError::Unequal`], the same for all, with the first that has another than member 0.
    fn equal(&mut self, what: &'static str, fingerprint: &[u8]) -> Result<()> {
        let all = self.gather(fingerprint)?;
        let mut members = all.chunks(fingerprint.len().max(1)).enumerate();
        match members.find(|(_, other)| !all.starts_with(other)) {
            Some((member, _)) => Err(Error::Crew(CrewError::Unequal { what, member })),
            None => Ok(()),
        }
    }
}

/// Nobody else: every sum is the number itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Crew for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn exchange(&mut self, _: usize, _: &[f32], _: &mut [f32]) -> Result<()> {
        Ok(()) // nobody asks for it: there is no other number
    }

    fn exchange_bytes(&mut self, _: usize, _: &[u8], _: &mut [u8]) -> Result<()> {
        Ok(())
    }
}

/// The micro-batches of member `rank` of `size`: an aligned group, a subtree of its own.
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
