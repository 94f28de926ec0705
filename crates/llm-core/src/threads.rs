//! How many threads work.
//!
//! Kernels share work among the threads of the pool that they are called in. Outside of any pool
//! that is one thread for each core. Results have the same bits for any number.

use crate::autograd::{no_grad, recording};
use crate::base::{Error, Result, memory};
use crate::message;

/// The most threads that [`with`] starts.
pub const MAX: usize = 1024;

/// Address space of a thread in bytes: its stack, and what it sets up before it can report a failure.
pub const STACK: u64 = 3 << 20;

/// Runs `f` on a pool of `n` threads, which end with it. Starting them takes a fraction of a
/// millisecond, so a whole run belongs into one call. Inside [`no_grad`] nothing is recorded there
/// either.
///
/// ```
/// use llm_core::{Config, TinyGPT, threads};
/// let model = TinyGPT::new(Config::new(256, 64, 32, 1), 1)?;
/// let tokens = b"once".map(u32::from);
/// let one = threads::with(1, || model.logits(&tokens, [1, 4]))??;
/// let two = threads::with(2, || {
///     assert_eq!(threads::count(), 2);
///     model.logits(&tokens, [1, 4])
/// })??;
/// assert_eq!(one.data(), two.data());
/// # Ok::<(), llm_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Config`] when `n` is outside 1..=[`MAX`] or the system gives no more threads,
/// [`Error::Memory`] when there is no room for their stacks; `f` is not run.
pub fn with<T: Send>(n: usize, f: impl FnOnce() -> T + Send) -> Result<T> {
    let within = (1..=MAX).contains(&n);
    Error::unless(within, "threads", message!("{} is outside 1..={}", n, MAX))?;
    memory::require(n as u64 * STACK)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build();
    let pool = pool
        .map_err(|e| Error::config("threads", message!("cannot start {}: {}", n, e.to_string())))?;
    let recorded = recording(); // each thread has its own state
    Ok(pool.install(|| if recorded { f() } else { no_grad(f) }))
}

/// The number of threads that share the caller's work.
pub fn count() -> usize {
    rayon::current_num_threads()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tensor, ops};

    #[test]
    fn so_many_threads_work_and_the_rest_is_as_outside() {
        let w = Tensor::parameter_from_vec(&[2], vec![1.0, 2.0]).unwrap();
        for n in [1, 2, 5] {
            let (inside, y) = with(n, || (count(), ops::mul(&w, &w).unwrap())).unwrap();
            assert_eq!((inside, y.wants_grad()), (n, true));
            let y = no_grad(|| with(n, || ops::mul(&w, &w).unwrap())).unwrap();
            assert!(!y.wants_grad());
        }
        let within = with(2, || with(3, count).unwrap() * 10 + count()).unwrap();
        assert_eq!(within, 32);
    }

    #[test]
    fn impossible_numbers_are_refused() {
        for n in [0, MAX + 1, usize::MAX] {
            let error = with(n, || unreachable!("no threads")).map(|()| 0).unwrap_err();
            assert!(matches!(error, Error::Config { field: "threads", .. }), "{error}");
        }
    }

    #[test]
    fn a_panic_comes_out() {
        let caught =
            std::panic::catch_unwind(|| with(2, || std::panic::resume_unwind(Box::new("inside"))));
        assert_eq!(*caught.map(drop).unwrap_err().downcast::<&str>().unwrap(), "inside");
    }
}
