//! What a trainer is between two calls, and who may touch it.

use llm_core::message;
use llm_core::tokenizer::Tokenizer;
use llm_core::train::{StepReport, Trainer as Run};
use llm_run::data::{Data, Validation};
use llm_run::models::Models;
use llm_run::note::Note;
use llm_run::plan::{Plan, own_data};
use llm_run::{Result, RunError};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A run, its text, and what it did here.
#[derive(Clone, Debug)]
pub struct Inner {
    /// Weights, optimizer, settings, step.
    pub run: Run,
    /// What its tokens mean.
    pub tokenizer: Arc<dyn Tokenizer>,
    /// What it learns from, once that was needed.
    pub data: Option<Data>,
    /// The file that it was loaded from: the text that its folder remembers is read when it is needed.
    pub origin: Option<PathBuf>,
    /// What may become of it.
    pub models: &'static Models,
    /// The steps that were done here.
    pub history: Vec<StepReport>,
    /// What there was to say about it.
    pub notes: Vec<Note>,
}

impl Inner {
    /// A run that may begin.
    pub fn of(plan: Plan, models: &'static Models) -> Inner {
        let Plan { trainer: run, tokenizer, data, notes, .. } = plan;
        Inner { run, tokenizer, data, origin: None, models, history: Vec::new(), notes }
    }

    /// What it learns from.
    ///
    /// # Errors
    /// [`RunError::Data`] where that is not at hand, with what to do; what reading it says.
    pub fn data(&mut self) -> Result<&Data> {
        if self.data.is_none() {
            let path = self.origin.clone().unwrap_or_else(|| "the trainer".into());
            self.data = Some(own_data(&path, &self.run.recipe, &self.tokenizer).map_err(without)?);
        }
        self.data.as_ref().ok_or_else(|| RunError::Internal(message!("no data")))
    }

    /// The text that it does not learn.
    ///
    /// # Errors
    /// As [`Inner::data`]; [`RunError::Data`] where nothing is unseen.
    pub fn unseen(&mut self) -> Result<&Validation> {
        let nothing =
            || RunError::Data(message!("nothing was kept unseen ({val_frac}): give some data"));
        self.data()?.val.as_ref().ok_or_else(nothing)
    }
}

/// A run's own text cannot be made again from what the run knows.
fn without(error: RunError) -> RunError {
    match error {
        RunError::Usage(_) => RunError::Data(message!(
            "the text of this run is not at hand, only its hash: give it by set_data()"
        )),
        other => other,
    }
}

const FREE: u32 = 0;
const BUSY: u32 = 1;
/// Told to stop; no call waits for its result.
const ENDING: u32 = 2;

/// What the thread that computes shares with the one that waits.
#[derive(Debug)]
pub struct Shared {
    /// Touched by who holds the claim alone.
    inner: Mutex<Inner>,
    claim: AtomicU32,
    /// The process of the claim: after a fork the others' threads are gone.
    process: AtomicU32,
    stop: AtomicBool,
    step: AtomicU64,
}

/// Whether a claim can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It is the caller's.
    Mine,
    /// Another call is at work.
    Busy,
    /// A call that was interrupted is about to end.
    Ending,
    /// Another thread was at work when the process was forked.
    Lost,
}

impl Shared {
    pub fn new(inner: Inner) -> Arc<Shared> {
        let step = inner.run.step.into();
        let (claim, process) = (FREE.into(), std::process::id().into());
        Arc::new(Shared { inner: Mutex::new(inner), claim, process, stop: false.into(), step })
    }

    /// Claims the run.
    pub fn claim(&self) -> Claim {
        let me = std::process::id();
        let tried = self.claim.compare_exchange(FREE, BUSY, Ordering::AcqRel, Ordering::Acquire);
        match tried {
            Ok(_) => {
                self.process.store(me, Ordering::Release);
                self.stop.store(false, Ordering::Release);
                Claim::Mine
            }
            Err(_) if self.process.load(Ordering::Acquire) != me => Claim::Lost,
            Err(ENDING) => Claim::Ending,
            Err(_) => Claim::Busy,
        }
    }

    /// Gives the claim back.
    pub fn free(&self) {
        self.claim.store(FREE, Ordering::Release);
    }

    /// Tells who is at work to stop, and that no call waits for what comes of it.
    pub fn end(&self) {
        self.stop.store(true, Ordering::Release);
        let _ = self.claim.compare_exchange(BUSY, ENDING, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Whether who is at work is to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Works with what is claimed.
    pub fn with<T>(&self, f: impl FnOnce(&mut Inner) -> T) -> T {
        // Every change is whole before the next can fail: what a panic leaves behind is a run.
        let mut inner = self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let done = f(&mut inner);
        self.step.store(inner.run.step, Ordering::Release);
        done
    }

    /// Steps done, also while it is at work.
    pub fn step(&self) -> u64 {
        self.step.load(Ordering::Acquire)
    }

    /// One more step is done.
    pub fn stepped(&self, step: u64) {
        self.step.store(step, Ordering::Release);
    }
}
