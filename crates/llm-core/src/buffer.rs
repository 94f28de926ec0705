//! Recycled storage for tensor values and token ids.
//!
//! A training step allocates the same few hundred sizes again and again, and fresh memory from the
//! system costs a page fault per 4 KiB: more than many whole steps. So a [`Buffer`] that is dropped
//! goes back to a pool, keyed by its length, and the next buffer of that length takes it again.
//! The memory is *stale*, never uninitialised: it holds some older tensor's numbers until it is
//! overwritten. Builds with debug assertions fill it with NaN, so a kernel that reads before it
//! writes is found by any test that looks at the result.

use crate::base::TokenId;
use crate::base::large_pages::room;
use std::collections::HashMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// The pool keeps at most this many bytes; what comes on top goes back to the system.
const POOL_LIMIT: usize = 3 << 30;

/// Buffers shorter than this are not worth a look into the pool.
const SMALL: usize = 64;

/// What a recycled buffer can hold.
pub trait Element: Copy + PartialEq + Sized + 'static {
    /// Fills stale memory in builds with debug assertions: a number that no kernel takes for good.
    const POISON: Self;
    /// Fills new memory.
    const ZERO: Self;
    /// Where dropped buffers of this kind wait.
    fn pool() -> &'static Mutex<Pool<Self>>;
}

impl Element for f32 {
    const POISON: f32 = f32::NAN;
    const ZERO: f32 = 0.0;
    fn pool() -> &'static Mutex<Pool<f32>> {
        static POOL: LazyLock<Mutex<Pool<f32>>> = LazyLock::new(Mutex::default);
        &POOL
    }
}

impl Element for TokenId {
    const POISON: TokenId = TokenId::MAX;
    const ZERO: TokenId = 0;
    fn pool() -> &'static Mutex<Pool<TokenId>> {
        static POOL: LazyLock<Mutex<Pool<TokenId>>> = LazyLock::new(Mutex::default);
        &POOL
    }
}

/// Dropped memory by length.
pub struct Pool<T> {
    free: HashMap<usize, Vec<Vec<T>>>,
    bytes: usize,
}

impl<T> Default for Pool<T> {
    fn default() -> Pool<T> {
        Pool { free: HashMap::new(), bytes: 0 }
    }
}

impl<T> fmt::Debug for Pool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

fn pool<T: Element>() -> MutexGuard<'static, Pool<T>> {
    // A panic elsewhere cannot leave the pool half-changed: every change below is one step.
    T::pool().lock().unwrap_or_else(PoisonError::into_inner)
}

/// An owned slice whose memory is recycled on drop.
#[derive(Default, PartialEq)]
pub struct Recycled<T: Element>(Vec<T>);

/// Numbers: the storage of every tensor.
pub type Buffer = Recycled<f32>;
/// Token ids: the storage of every batch.
pub type Tokens = Recycled<TokenId>;

impl<T: Element> Recycled<T> {
    /// `len` numbers with any content: the caller overwrites all of them.
    pub fn stale(len: usize) -> Recycled<T> {
        let recycled = if len < SMALL { None } else { take(len) };
        let mut data = recycled.unwrap_or_else(|| fresh(len));
        if cfg!(debug_assertions) {
            data.fill(T::POISON);
        }
        Recycled(data)
    }

    /// `len` zeros.
    pub fn zeros(len: usize) -> Recycled<T> {
        if len >= SMALL
            && let Some(mut data) = take(len)
        {
            data.fill(T::ZERO);
            return Recycled(data);
        }
        Recycled(fresh(len))
    }

    /// A copy of `source`.
    pub fn copy_of(source: &[T]) -> Recycled<T> {
        let mut buffer = Recycled::stale(source.len());
        buffer.copy_from_slice(source);
        buffer
    }
}

/// New memory, zeroed.
///
/// Where the system refuses, `vec!` would end the whole process on the spot. This unwinds with an
/// [`Error::Memory`](crate::Error::Memory) instead, which a program can catch and report.
fn fresh<T: Element>(len: usize) -> Vec<T> {
    let Ok(mut data) = room(len) else {
        let needed = (len as u64).saturating_mul(size_of::<T>() as u64);
        let available = crate::base::memory::available();
        std::panic::panic_any(crate::Error::Memory { needed, available });
    };
    data.resize(len, T::ZERO);
    data
}

/// Gives the pools' memory back to the system.
pub fn release_pool() {
    *pool::<f32>() = Pool::default();
    *pool::<TokenId>() = Pool::default();
}

fn take<T: Element>(len: usize) -> Option<Vec<T>> {
    let mut pool = pool();
    let data = pool.free.get_mut(&len)?.pop()?;
    pool.bytes -= len * size_of::<T>();
    Some(data)
}

impl<T: Element> Drop for Recycled<T> {
    fn drop(&mut self) {
        let data = std::mem::take(&mut self.0);
        let (len, bytes) = (data.len(), data.len() * size_of::<T>());
        // A `Vec` that came from outside may have spare capacity; it is not kept.
        if len < SMALL || data.capacity() != len {
            return;
        }
        let mut pool = pool();
        if pool.bytes + bytes <= POOL_LIMIT {
            pool.bytes += bytes;
            pool.free.entry(len).or_default().push(data);
        }
    }
}

impl<T: Element> From<Vec<T>> for Recycled<T> {
    fn from(data: Vec<T>) -> Recycled<T> {
        Recycled(data)
    }
}

impl<T: Element> FromIterator<T> for Recycled<T> {
    fn from_iter<I: IntoIterator<Item = T>>(numbers: I) -> Recycled<T> {
        Recycled(Vec::from_iter(numbers))
    }
}

impl<T: Element> Deref for Recycled<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Element> DerefMut for Recycled<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T: Element + fmt::Debug> fmt::Debug for Recycled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Preview(&self.0).fmt(f)
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
    fn stale_memory_is_poisoned_in_debug_builds() {
        drop(Buffer::copy_of(&[1.0; 7907]));
        assert_eq!(Buffer::stale(7907)[0].is_nan(), cfg!(debug_assertions));
    }
}
