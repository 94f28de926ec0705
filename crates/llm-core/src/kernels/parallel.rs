//! Where work is cut for several threads: the only place with a threshold.
//!
//! Every output element has one writer and a summation order that does not depend on the cut, so
//! results have the same bits for any number of threads. Work below about 20 µs stays on one
//! thread: waking a second one would cost more.

use crate::base::scoped;
use rayon::prelude::*;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Elements of light work (an add, a copy) that are worth a task of their own.
pub const LIGHT: usize = 1 << 16;
/// Elements of heavy work (an exponential each) that are worth a task of their own.
pub const HEAVY: usize = 1 << 14;

/// Calls `f(start, chunk)` for pieces of `out`, in parallel if there are at least two of `grain`
/// elements. `start` is the piece's offset in `out`.
pub fn chunks(out: &mut [f32], grain: usize, f: impl Fn(usize, &mut [f32]) + Sync) {
    rows(out, 1, grain, f);
}

/// Calls `f(piece of out, piece of x)` for pieces at the same place, as [`chunks`] cuts them.
pub fn with_one(out: &mut [f32], x: &[f32], grain: usize, f: impl Fn(&mut [f32], &[f32]) + Sync) {
    chunks(out, grain, |start, out| f(out, &x[start..start + out.len()]));
}

/// Calls `f(first_row, rows)` for groups of whole rows of `width` elements, in parallel if there
/// are at least two groups of `grain` elements.
pub fn rows(out: &mut [f32], width: usize, grain: usize, f: impl Fn(usize, &mut [f32]) + Sync) {
    let Some(group) = rows_per_task(out.len(), width, grain) else {
        return f(0, out);
    };
    out.par_chunks_mut(group * width).enumerate().for_each(|(i, chunk)| f(i * group, chunk));
}

/// [`rows`] with a second output that has `side` elements for each row of the first.
pub fn rows_with(
    out: &mut [f32],
    width: usize,
    extra: &mut [f32],
    side: usize,
    grain: usize,
    f: impl Fn(usize, &mut [f32], &mut [f32]) + Sync,
) {
    let Some(group) = rows_per_task(out.len(), width, grain) else {
        return f(0, out, extra);
    };
    let pairs = out.par_chunks_mut(group * width).zip(extra.par_chunks_mut(group * side));
    pairs.enumerate().for_each(|(i, (chunk, more))| f(i * group, chunk, more));
}

/// Runs `f` while the pool's other threads stay awake for the work that `f` hands out.
///
/// A training step has a hundred parallel regions of 20 to 200 µs with a little serial work in
/// between. A pool thread that finds nothing to do there goes to sleep, and waking it again costs
/// as much as some whole regions. So the others look for work until `f` is done. Each look that
/// finds nothing gives its core to any other process that wants it, and one that finds nothing for
/// a while naps, so that a caller who shares its core with another process can move to an idle one.
///
/// A thread that finds nothing for long stops. This is more than politeness: a thread that took a
/// part of `f`'s work before it came to watch may watch in the middle of that part, while it waits
/// for a part of the part. Then `f` waits for that thread, and it must not wait for `f` in turn.
pub fn awake<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    /// How long a thread looks for work before it takes a nap.
    const PATIENCE: Duration = Duration::from_micros(200);
    /// Short compared with a step, long enough for the scheduler to see an idle core.
    const NAP: Duration = Duration::from_micros(50);
    /// Much longer than the serial work between two regions.
    const HOME: Duration = Duration::from_millis(1);
    /// Ends the watch also when `f` panics.
    struct Done<'a>(&'a AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    let (Some(caller), 2..) = (rayon::current_thread_index(), threads()) else {
        return f();
    };
    let done = AtomicBool::new(false);
    rayon::scope(|scope| {
        scope.spawn_broadcast(|_, context| {
            let mut idle: Option<Instant> = None;
            while context.index() != caller && !done.load(Ordering::Acquire) {
                if rayon::yield_now() == Some(rayon::Yield::Executed) {
                    idle = None;
                    continue;
                }
                match idle.get_or_insert_with(Instant::now).elapsed() {
                    short if short < PATIENCE => std::thread::yield_now(),
                    long if long < HOME => std::thread::sleep(NAP),
                    _ => return,
                }
            }
        });
        let _done = Done(&done);
        f()
    })
}

thread_local! {
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` on this thread, and nothing that is cut here on others: they have work of their own.
pub fn alone<T>(f: impl FnOnce() -> T) -> T {
    scoped(&ALONE, true, f)
}

/// The number of threads that share what is cut here.
fn threads() -> usize {
    // In a browser's tab it is 1 always, and known when that is compiled: nothing that cuts work is in its core.
    if cfg!(target_family = "wasm") || ALONE.get() { 1 } else { rayon::current_num_threads() }
}

/// `None`: not worth cutting.
fn rows_per_task(len: usize, width: usize, grain: usize) -> Option<usize> {
    let (threads, width) = (threads(), width.max(1));
    if threads == 1 || len < 2 * grain || len < 2 * width {
        return None;
    }
    // Two pieces a thread let an idle one help when the other's core is busy elsewhere.
    let pieces = (len / grain).clamp(2, 2 * threads);
    Some((len / width).div_ceil(pieces).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_pool<T: Send>(threads: usize, f: impl FnOnce() -> T + Send) -> T {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(f)
    }

    #[test]
    fn every_row_is_visited_once() {
        for threads in [1, 2, 3] {
            for (rows_n, width) in [(0, 3), (1, 7), (1000, 7), (3, 100_000)] {
                let mut out = vec![0.0; rows_n * width];
                let mut side = vec![0.0; rows_n];
                in_pool(threads, || {
                    rows_with(&mut out, width, &mut side, 1, 100, |first, out, side| {
                        assert_eq!(out.len(), side.len() * width);
                        out.iter_mut().for_each(|x| *x += 1.0);
                        side.iter_mut().enumerate().for_each(|(i, x)| *x += (first + i) as f32);
                    });
                });
                assert!(out.iter().all(|&x| x == 1.0));
                assert!(side.iter().enumerate().all(|(i, &x)| x == i as f32));
            }
        }
    }

    #[test]
    fn alone_no_other_thread_takes_part() {
        let own = std::thread::current().id();
        let count = || {
            let mut others = vec![0.0; 1000];
            rows(&mut others, 1, 1, |_, rows| {
                rows.fill(f32::from(u8::from(std::thread::current().id() != own)));
            });
            others.iter().sum::<f32>()
        };
        assert_eq!(alone(count), 0.0);
        assert!(rayon::current_num_threads() == 1 || count() > 0.0);
    }

    /// A thread that watches in the middle of its own part of the work blocks no other for ever.
    #[test]
    fn awake_ends_however_its_work_is_nested() {
        fn sum(from: u64, to: u64) -> u64 {
            if to - from < 2 {
                (0..1000).for_each(|i| {
                    std::hint::black_box(i);
                });
                return from;
            }
            let middle = from + (to - from) / 2;
            let (a, b) = rayon::join(|| sum(from, middle), || sum(middle, to));
            a + b
        }
        for threads in [2, 3] {
            in_pool(threads, || {
                for round in 0..20_000 {
                    // Threads are caught in all states, from wide awake to asleep.
                    let start = Instant::now();
                    while start.elapsed() < Duration::from_nanos(round % 100 * 100) {}
                    assert_eq!(awake(|| sum(0, 16)), 120);
                }
            });
        }
    }

    /// A panic comes out, on one thread and on several, from the caller and from a task; no thread
    /// waits for ever, and the pool works on.
    #[test]
    fn awake_ends_when_its_work_panics() {
        for threads in [1, 2, 3] {
            in_pool(threads, || {
                let caller = || awake(|| std::panic::resume_unwind(Box::new("caller")));
                assert!(std::panic::catch_unwind(caller).is_err());
                let task = |i: i32| {
                    if i == 57 {
                        std::panic::resume_unwind(Box::new("task"));
                    }
                };
                let caught = std::panic::catch_unwind(|| {
                    awake(|| (0..100).into_par_iter().for_each(task));
                });
                assert!(caught.is_err());
                assert_eq!(awake(|| (0..1000).into_par_iter().sum::<i32>()), 499_500);
            });
        }
    }
}
