//! Recycled storage for tensor values.
//!
//! A training step allocates the same few hundred sizes again and again, and fresh memory from the
//! system costs a page fault per 4 KiB: more than many whole steps. So a [`Buffer`] that is dropped
//! goes back to a pool, keyed by its length, and the next buffer of that length takes it again.
//! The memory is *stale*, never uninitialised: it holds some older tensor's numbers until it is
//! overwritten. Builds with debug assertions fill it with NaN, so a kernel that reads before it
//! writes is found by any test that looks at the result.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::{LazyLock, Mutex, PoisonError};

/// The pool keeps at most this many bytes; what comes on top goes back to the system.
const POOL_LIMIT: usize = 3 << 30;

/// Buffers shorter than this are not worth a look into the pool.
const SMALL: usize = 64;

#[derive(Default)]
struct Pool {
    free: HashMap<usize, Vec<Vec<f32>>>,
    bytes: usize,
}

static POOL: LazyLock<Mutex<Pool>> = LazyLock::new(Mutex::default);

fn pool() -> std::sync::MutexGuard<'static, Pool> {
    // A panic elsewhere cannot leave the pool half-changed: every change below is one step.
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An owned `[f32]` whose memory is recycled on drop.
#[derive(Debug, Default)]
pub struct Buffer(Vec<f32>);

impl Buffer {
    /// `len` numbers with any content: the caller overwrites all of them.
    pub fn stale(len: usize) -> Buffer {
        let recycled = if len < SMALL { None } else { take(len) };
        let mut data = recycled.unwrap_or_else(|| fresh(len));
        if cfg!(debug_assertions) {
            data.fill(f32::NAN);
        }
        Buffer(data)
    }

    /// `len` zeros.
    pub fn zeros(len: usize) -> Buffer {
        if len >= SMALL
            && let Some(mut data) = take(len)
        {
            data.fill(0.0);
            return Buffer(data);
        }
        Buffer(fresh(len))
    }

    /// A copy of `source`.
    pub fn copy_of(source: &[f32]) -> Buffer {
        let mut buffer = Buffer::stale(source.len());
        buffer.copy_from_slice(source);
        buffer
    }
}

/// New memory, zeroed.
///
/// Where the system refuses, `vec!` would end the whole process on the spot. This unwinds with an
/// [`Error::Memory`](crate::Error::Memory) instead, which a program can catch and report.
fn fresh(len: usize) -> Vec<f32> {
    let mut data = Vec::new();
    if data.try_reserve_exact(len).is_err() {
        let needed = (len as u64).saturating_mul(size_of::<f32>() as u64);
        let available = crate::util::memory::available();
        std::panic::panic_any(crate::Error::Memory { needed, available });
    }
    data.resize(len, 0.0);
    data
}

/// Gives the pool's memory back to the system.
pub fn release_pool() {
    *pool() = Pool::default();
}

fn take(len: usize) -> Option<Vec<f32>> {
    let mut pool = pool();
    let data = pool.free.get_mut(&len)?.pop()?;
    pool.bytes -= len * size_of::<f32>();
    Some(data)
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let data = std::mem::take(&mut self.0);
        let (len, bytes) = (data.len(), data.len() * size_of::<f32>());
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

impl From<Vec<f32>> for Buffer {
    fn from(data: Vec<f32>) -> Buffer {
        Buffer(data)
    }
}

impl Deref for Buffer {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        &self.0
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.0
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Buffer {
        Buffer::copy_of(self)
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
