//! A call that computes. It does so on threads of its own, which end with it; Python's thread waits
//! without the GIL, looks for signals, and goes at once when there is one: what was begun is then given
//! up in the background, and the next call waits until it is.

use crate::errors::raised;
use crate::state::{Claim, Inner, Shared};
use llm_core::{message, threads};
use llm_run::{Result, RunError};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Between two looks for signals.
const LOOK: Duration = Duration::from_millis(20);
/// What is told to stop is waited for so long, so that the trainer is free for the next call at once.
const LAST: Duration = Duration::from_millis(80);

/// Whether what is being done is to be given up.
#[derive(Debug)]
pub struct Stop {
    shared: Arc<Shared>,
    number: u64,
    waker: Sender<()>,
}

impl Stop {
    pub fn is_set(&self) -> bool {
        self.shared.is_stopped(self.number)
    }

    /// One more step is done.
    pub fn stepped(&self, step: u64) {
        self.shared.stepped(step);
    }

    /// Has Python's thread look at once.
    pub fn wake(&self) {
        let _ = self.waker.send(()); // nobody may wait any more
    }
}

/// A trainer's state and who works on it.
#[derive(Debug)]
pub struct Worker {
    shared: Arc<Shared>,
    /// Threads of a call.
    pub threads: usize,
}

impl Worker {
    pub fn new(inner: Inner, threads: usize) -> Worker {
        Worker { shared: Shared::new(inner), threads }
    }

    /// Steps done.
    pub fn step(&self) -> u64 {
        self.shared.step()
    }

    /// Works on the state.
    ///
    /// # Errors
    /// What `f` says; what a signal's handler raises, `KeyboardInterrupt` for Ctrl-C; `RuntimeError`
    /// where another thread is at work on it.
    pub fn work<T: Send + 'static>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut Inner, &Stop) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        self.work_while(py, f, |_| Ok(()))
    }

    /// [`Worker::work`] during which `meanwhile` is called at every look for signals.
    ///
    /// # Errors
    /// As [`Worker::work`]; what `meanwhile` says, which ends the work as a signal does.
    pub fn work_while<T: Send + 'static>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut Inner, &Stop) -> Result<T> + Send + 'static,
        mut meanwhile: impl FnMut(Python<'_>) -> PyResult<()>,
    ) -> PyResult<T> {
        let number = self.claim(py)?;
        let (shared, n) = (self.shared.clone(), self.threads);
        let done = in_background(move |waker| {
            let claimed = Claimed(shared, number);
            let stop = Stop { shared: claimed.0.clone(), number, waker };
            let done = claimed.0.with(|inner| threads::with(n, || f(inner, &stop)));
            drop(claimed);
            done.map_err(RunError::from).and_then(|done| done)
        });
        let done = done.inspect_err(|_| self.shared.free(number))?;
        wait(py, &done, &mut meanwhile).inspect_err(|_| {
            self.shared.end(number);
            let _ = py.detach(|| done.heard(LAST));
        })?
    }

    /// A short look at the state, which computes nothing.
    ///
    /// # Errors
    /// What `f` says; as [`Worker::work`].
    pub fn now<T>(&self, py: Python<'_>, f: impl FnOnce(&mut Inner) -> PyResult<T>) -> PyResult<T> {
        let number = self.claim(py)?;
        let claimed = Claimed(self.shared.clone(), number);
        claimed.0.with(f)
    }

    fn claim(&self, py: Python<'_>) -> PyResult<u64> {
        loop {
            let why = match self.shared.claim() {
                Claim::Mine(number) => return Ok(number),
                // What was interrupted ends soon: it was told.
                Claim::Ending => {
                    py.check_signals()?;
                    py.detach(|| std::thread::sleep(Duration::from_millis(1)));
                    continue;
                }
                Claim::Busy => "this trainer is at work in another thread",
                Claim::Lost => {
                    "this trainer was at work in another thread when the process was forked: the \
                     process before has it"
                }
            };
            return Err(PyRuntimeError::new_err(why));
        }
    }
}

/// Frees the claim, whatever happens.
struct Claimed(Arc<Shared>, u64);

impl Drop for Claimed {
    fn drop(&mut self) {
        self.0.free(self.1);
    }
}

/// The result of another thread, once that has ended, which closes the channel.
struct Done<T> {
    result: Arc<Mutex<Option<Result<T>>>>,
    wakes: Mutex<Receiver<()>>,
}

impl<T> Done<T> {
    fn heard(&self, most: Duration) -> std::result::Result<(), RecvTimeoutError> {
        self.wakes.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(most)
    }
}

/// Does `f` on another thread, with what wakes the thread that waits.
fn in_background<T: Send + 'static>(
    f: impl FnOnce(Sender<()>) -> Result<T> + Send + 'static,
) -> PyResult<Done<T>> {
    let (waker, wakes) = channel();
    let result = Arc::new(Mutex::new(None));
    let place = result.clone();
    let begun = std::thread::Builder::new().name("traingpt".into()).spawn(move || {
        let open = waker.clone();
        let done = f(waker);
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
        drop(open);
    });
    begun.map_err(|_| raised(RunError::Threads(1)))?;
    Ok(Done { result, wakes: Mutex::new(wakes) })
}

/// Waits for the result without the GIL. The outer error is a signal's, the inner one the work's.
fn wait<T: Send>(
    py: Python<'_>,
    done: &Done<T>,
    meanwhile: &mut dyn FnMut(Python<'_>) -> PyResult<()>,
) -> PyResult<PyResult<T>> {
    loop {
        if py.detach(|| done.heard(LOOK)) != Err(RecvTimeoutError::Disconnected) {
            py.check_signals()?;
            meanwhile(py)?;
            continue;
        }
        let result = done.result.lock().unwrap_or_else(PoisonError::into_inner).take();
        let nothing = || RunError::Internal(message!("a thread has ended without a result"));
        return Ok(result.unwrap_or_else(|| Err(nothing())).map_err(raised));
    }
}

/// Computes something that belongs to no trainer yet, such as a new one, in the same way.
///
/// # Errors
/// As [`Worker::work`].
pub fn apart<T: Send + 'static>(
    py: Python<'_>,
    n: usize,
    f: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let done = in_background(move |_| threads::with(n, f).map_err(RunError::from).and_then(|x| x))?;
    wait(py, &done, &mut |_| Ok(()))?
}
