//! Where dropped memory waits, and for how long.
//!
//! What waits is bounded by what was in use lately: a training step takes some memory, gives it all
//! back, and the next step takes the same again. So of the bytes in use the pool watches the most
//! and the least, and lets [`SHARE`] times the difference wait; the buffers that have waited longest
//! go back to the system first. A step's buffers of all lengths together are at most about twice
//! what is in use at its height, so they stay, and a model that is now run with shorter texts or
//! smaller batches lets go of the long ones.

use crate::base::TokenId;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// How many times what was in use lately may wait.
const SHARE: usize = 4;
/// The number of bytes that may always wait: hardly worth a look.
const LITTLE: usize = 1 << 20;
/// No more wait, whatever was in use.
const MOST: usize = 3 << 30;
/// "Lately": this number of requests and up to as many before them, dozens of steps of most models.
const PERIOD: u64 = 1 << 16;

/// Bytes that may wait where `swing` is the most that were in use less the least.
pub(crate) fn most_that_wait(swing: usize) -> usize {
    swing.saturating_mul(SHARE).clamp(LITTLE, MOST)
}

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

/// The pool of a kind.
pub(super) fn pool<T: Element>() -> MutexGuard<'static, Pool<T>> {
    // A panic elsewhere cannot leave the pool half-changed: every change below is one step.
    T::pool().lock().unwrap_or_else(PoisonError::into_inner)
}

/// The most and the least bytes in use during a period.
#[derive(Clone, Copy, Debug, Default)]
struct Tide {
    high: usize,
    low: usize,
}

/// Dropped memory by length.
pub struct Pool<T> {
    /// Waiting buffers by length, the longest waiting first, each with the request it came back after.
    free: HashMap<usize, VecDeque<(u64, Vec<T>)>>,
    /// Bytes that wait.
    waiting: usize,
    /// Bytes that were handed out and have not come back.
    used: usize,
    /// Requests so far.
    requests: u64,
    /// Tides of this period and of the one before.
    tides: [Tide; 2],
}

impl<T> Default for Pool<T> {
    fn default() -> Pool<T> {
        let (free, tides) = (HashMap::new(), [Tide::default(); 2]);
        Pool { free, waiting: 0, used: 0, requests: 0, tides }
    }
}

impl<T> fmt::Debug for Pool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pool { waiting, used, .. } = self;
        let mut fields = f.debug_struct("Pool");
        fields.field("waiting", waiting).field("used", used).finish_non_exhaustive()
    }
}

impl<T> Pool<T> {
    /// Bytes that wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// A buffer of this length for a caller that will bring it, or one as long,
    /// [`back`](Pool::back) or say that it is [gone](Pool::gone); `None` when none waits, and one
    /// must be made.
    pub(super) fn take(&mut self, len: usize) -> Option<Vec<T>> {
        self.requests += 1;
        if self.requests.is_multiple_of(PERIOD) {
            self.tides = [Tide { high: self.used, low: self.used }, self.tides[0]];
        }
        self.used += len * size_of::<T>();
        self.tides[0].high = self.tides[0].high.max(self.used);
        let (_, data) = self.free.get_mut(&len)?.pop_back()?;
        self.waiting -= len * size_of::<T>();
        Some(data)
    }

    /// A buffer that was taken is not in use any more, and does not come back.
    pub(super) fn gone(&mut self, len: usize) {
        self.used -= len * size_of::<T>();
        self.tides[0].low = self.tides[0].low.min(self.used);
    }

    /// A buffer that was taken comes back. What has waited too long for it to stay goes.
    pub(super) fn back(&mut self, data: Vec<T>) {
        let len = data.len();
        self.gone(len);
        self.waiting += len * size_of::<T>();
        self.free.entry(len).or_default().push_back((self.requests, data));
        if self.waiting > self.limit() {
            self.let_go();
        }
    }

    /// Gives back all that waits.
    pub(super) fn release(&mut self) {
        self.free = HashMap::new();
        self.waiting = 0;
    }

    /// Bytes that may wait.
    fn limit(&self) -> usize {
        let [now, before] = self.tides;
        most_that_wait(now.high.max(before.high) - now.low.min(before.low))
    }

    /// Lets go of what has waited longest, and of somewhat more than it must: this is not for every
    /// buffer that comes back.
    fn let_go(&mut self) {
        let enough = self.limit() / 4 * 3;
        let places = self.free.iter().flat_map(|(len, all)| all.iter().map(|(at, _)| (*at, *len)));
        let mut oldest_first: Vec<(u64, usize)> = places.collect();
        oldest_first.sort_unstable();
        for (_, len) in oldest_first {
            if self.waiting <= enough {
                break;
            }
            let gone = self.free.get_mut(&len).and_then(VecDeque::pop_front);
            self.waiting -= gone.map_or(0, |_| len * size_of::<T>());
        }
        self.free.retain(|_, all| !all.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: usize = 1 << 20;

    /// Takes buffers of these lengths, all in use at once, and brings them back; returns how many
    /// had to be made.
    fn step(pool: &mut Pool<u8>, lengths: &[usize]) -> usize {
        let mut made = 0;
        let take = |&len: &usize| {
            let waited = pool.take(len);
            made += usize::from(waited.is_none());
            waited.unwrap_or_else(|| vec![0; len])
        };
        let all: Vec<_> = lengths.iter().map(take).collect();
        all.into_iter().for_each(|data| pool.back(data));
        made
    }

    #[test]
    fn steps_of_one_kind_or_of_two_in_turn_make_nothing_new() {
        let mut pool = Pool::default();
        let _weights = pool.take(40 * MB); // in use for ever
        let (train, evaluate) = ([3 * MB, MB, MB, 5 * MB], [2 * MB, MB, 4 * MB]);
        assert_eq!([step(&mut pool, &train), step(&mut pool, &evaluate)], [4, 2]);
        for _ in 0..100_000 {
            assert_eq!([step(&mut pool, &train), step(&mut pool, &evaluate)], [0, 0]);
        }
    }

    #[test]
    fn steps_of_ever_other_lengths_leave_what_a_few_use() {
        let mut pool = Pool::default();
        for len in 1..2000 {
            step(&mut pool, &[len * 1024, 3 * len * 1024]);
            assert!(pool.waiting() <= (4 * 4 * len * 1024).max(LITTLE), "{len}");
            assert_eq!(pool.waiting(), pool.free.values().flatten().map(|(_, x)| x.len()).sum());
        }
        assert!(pool.free.len() < 40, "{}", pool.free.len());
        // The latest stayed.
        assert_eq!(step(&mut pool, &[1999 * 1024, 3 * 1999 * 1024]), 0);
    }

    #[test]
    fn what_a_large_step_left_goes_when_small_ones_follow() {
        let mut pool = Pool::default();
        step(&mut pool, &[200 * MB]);
        assert_eq!(pool.waiting(), 200 * MB);
        for _ in 0..2 * PERIOD {
            step(&mut pool, &[MB]);
        }
        assert_eq!(pool.waiting(), MB);
    }

    #[test]
    fn all_that_waits_can_be_given_back_while_some_is_in_use() {
        let mut pool = Pool::default();
        step(&mut pool, &[100, 200]);
        let kept = pool.take(100).unwrap();
        pool.release();
        assert_eq!(pool.waiting(), 0);
        pool.back(kept);
        assert_eq!((pool.waiting(), pool.used), (100, 0));
    }
}
