//! Recycled storage for tensor values and token ids.
//!
//! A training step allocates the same few hundred sizes again and again, and fresh memory from the
//! system costs a page fault per 4 KiB: more than many whole steps. So a [`Buffer`] that is dropped
//! goes back to a pool, keyed by its length, and the next buffer of that length takes it again.
//! What waits there is bounded by what was in use lately, see `pool.rs`.
//! The memory is *stale*, never uninitialised: it holds some older tensor's numbers until it is
//! overwritten. Builds with debug assertions fill it with NaN, so a kernel that reads before it
//! writes is found by any test that looks at the result.

mod pool;

pub(crate) use pool::most_that_wait;
pub use pool::{Element, Pool};

use crate::base::large_pages::room;
use crate::base::{Error, Result, TokenId, memory};
use pool::pool;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::MutexGuard;

/// Buffers shorter than this are not worth a look into the pool.
const SMALL: usize = 64;

/// An owned slice whose memory is recycled on drop, if it came from here: a `Vec` that was handed
/// in goes back to the system, for its length may never be asked for again.
pub struct Recycled<T: Element> {
    data: Vec<T>,
    /// Taken from the pool, which waits for it.
    ours: bool,
}

/// Numbers: the storage of every tensor.
pub type Buffer = Recycled<f32>;
/// Token ids: the storage of every batch.
pub type Tokens = Recycled<TokenId>;

impl<T: Element> Recycled<T> {
    /// `len` numbers with any content: the caller overwrites all of them.
    pub fn stale(len: usize) -> Recycled<T> {
        poisoned(taken_or_made(len).unwrap_or_else(out_of_memory))
    }

    /// [`Recycled::stale`] of a length that the user chose, who may have chosen too much.
    ///
    /// # Errors
    /// [`Error::Memory`] when there is no room.
    pub fn try_stale(len: usize) -> Result<Recycled<T>> {
        /// The system may promise more than it has: about much it is asked.
        const MUCH: u64 = 1 << 30;
        let needed = (len as u64).saturating_mul(size_of::<T>() as u64);
        if needed > MUCH {
            memory::require(needed)?;
        }
        taken_or_made(len).map(poisoned)
    }

    /// `len` zeros.
    pub fn zeros(len: usize) -> Recycled<T> {
        let (mut buffer, zeroed) = taken_or_made(len).unwrap_or_else(out_of_memory);
        if !zeroed {
            buffer.fill(T::ZERO);
        }
        buffer
    }

    /// A copy of `source`.
    pub fn copy_of(source: &[T]) -> Recycled<T> {
        Recycled::written(source.len(), |buffer| buffer.copy_from_slice(source))
    }

    /// The numbers that `write` writes, each of them.
    pub fn written(len: usize, write: impl FnOnce(&mut [T])) -> Recycled<T> {
        let mut buffer = Recycled::stale(len);
        write(&mut buffer);
        buffer
    }
}

/// Stale content, which builds with debug assertions make useless.
fn poisoned<T: Element>((mut buffer, _): (Recycled<T>, bool)) -> Recycled<T> {
    if cfg!(debug_assertions) {
        buffer.fill(T::POISON);
    }
    buffer
}

/// Where the system refuses, `vec!` would end the whole process on the spot. This unwinds with an
/// [`Error::Memory`] instead, which a program can catch and report.
fn out_of_memory<T>(error: Error) -> T {
    std::panic::panic_any(error)
}

/// A buffer, and whether it is new and thus all zeros.
fn taken_or_made<T: Element>(len: usize) -> Result<(Recycled<T>, bool)> {
    if len < SMALL {
        return Ok((Recycled::from(vec![T::ZERO; len]), true));
    }
    if len > isize::MAX as usize / size_of::<T>() {
        return Err(no_room::<T>(len)); // beyond any machine, and beyond counting
    }
    if let Some(data) = pool().take(len) {
        return Ok((Recycled { data, ours: true }, false));
    }
    let made = room(len).map_err(|_| no_room::<T>(len));
    let mut data = made.inspect_err(|_| pool::<T>().gone(len))?;
    data.resize(len, T::ZERO);
    Ok((Recycled { data, ours: true }, true))
}

fn no_room<T>(len: usize) -> Error {
    memory::refused((len as u64).saturating_mul(size_of::<T>() as u64))
}

/// No other thread takes or brings a buffer until this is dropped.
#[doc(hidden)]
#[derive(Debug)]
pub struct Still {
    _floats: MutexGuard<'static, Pool<f32>>,
    _tokens: MutexGuard<'static, Pool<TokenId>>,
}

/// Waits until no other thread takes or brings a buffer, and keeps it so: a process that is forked meanwhile has
/// a storage that works, whatever its other threads were doing.
#[doc(hidden)]
pub fn still() -> Still {
    Still { _floats: pool(), _tokens: pool() }
}

/// Gives the pools' memory back to the system.
pub fn release_pool() {
    pool::<f32>().release();
    pool::<TokenId>().release();
}

/// Bytes of dropped buffers that wait to be taken again.
#[doc(hidden)]
pub fn waiting() -> usize {
    let (numbers, tokens) = (pool::<f32>().waiting(), pool::<TokenId>().waiting());
    numbers + tokens
}

impl<T: Element> Drop for Recycled<T> {
    fn drop(&mut self) {
        if self.ours {
            pool().back(std::mem::take(&mut self.data));
        }
    }
}

impl<T: Element> From<Vec<T>> for Recycled<T> {
    fn from(data: Vec<T>) -> Recycled<T> {
        Recycled { data, ours: false }
    }
}

impl<T: Element> Default for Recycled<T> {
    fn default() -> Recycled<T> {
        Recycled::from(Vec::new())
    }
}

impl<T: Element> PartialEq for Recycled<T> {
    fn eq(&self, other: &Recycled<T>) -> bool {
        self.data == other.data
    }
}

impl<T: Element> FromIterator<T> for Recycled<T> {
    fn from_iter<I: IntoIterator<Item = T>>(numbers: I) -> Recycled<T> {
        Recycled::from(Vec::from_iter(numbers))
    }
}

impl<T: Element> Deref for Recycled<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.data
    }
}

impl<T: Element> DerefMut for Recycled<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.data
    }
}

impl<T: Element + fmt::Debug> fmt::Debug for Recycled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Preview(&self.data).fmt(f)
    }
}

/// Prints the first elements of a list and, if these are not all, how many there are: for `Debug`
/// of what holds many.
///
/// ```
/// use llm_core::buffer::Preview;
/// assert_eq!(format!("{:?}", Preview(&[1, 2, 3])), "[1, 2, 3]");
/// assert_eq!(format!("{:?}", Preview(&[7; 1000])), "[7, 7, 7, 7, 7, 7, .. 1000 in all]");
/// ```
pub struct Preview<'a, T>(pub &'a [T]);

impl<T: fmt::Debug> fmt::Debug for Preview<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const FIRST: usize = 6;
        let mut list = f.debug_list();
        list.entries(self.0.iter().take(FIRST));
        if self.0.len() > FIRST {
            list.entry(&format_args!(".. {} in all", self.0.len()));
        }
        list.finish()
    }
}

impl<T: Element> Clone for Recycled<T> {
    fn clone(&self) -> Recycled<T> {
        Recycled::copy_of(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_memory_is_taken_again() {
        // A length no other test uses.
        let first = Buffer::stale(7919);
        let address = first.as_ptr();
        drop(first);
        assert_eq!(Buffer::stale(7919).as_ptr(), address);
        assert!(Buffer::zeros(7919).iter().all(|&x| x == 0.0));
    }

    #[test]
    fn what_comes_from_outside_goes_back_to_the_system() {
        // A length no other test uses.
        drop(Buffer::from(vec![1.0; 7919 - 2]));
        drop((0..7919 - 2).map(|_| 1.0).collect::<Buffer>());
        assert!(pool::<f32>().take(7919 - 2).is_none());
        pool::<f32>().gone(7919 - 2);
        let copy = Buffer::from(vec![1.0; 7919 - 2]).clone();
        let address = copy.as_ptr();
        drop(copy);
        assert_eq!(Buffer::stale(7919 - 2).as_ptr(), address);
    }

    #[test]
    fn what_there_is_no_room_for_is_an_error() {
        for len in [usize::MAX, usize::MAX / 4, 1 << 50] {
            let refused = Buffer::try_stale(len).map(drop).unwrap_err();
            assert!(matches!(refused, Error::Memory { .. }), "{refused}");
        }
    }

    #[test]
    fn stale_memory_is_poisoned_in_debug_builds() {
        drop(Buffer::copy_of(&[1.0; 7907]));
        assert_eq!(Buffer::stale(7907)[0].is_nan(), cfg!(debug_assertions));
    }
}
