//! What a trainer is between two calls, and who may touch it.

use llm_core::message;
use llm_core::recipe::DataSource;
use llm_core::tokenizer::Tokenizer;
use llm_core::train::{StepReport, Trainer as Run};
use llm_run::data::{Data, Validation};
use llm_run::models::Models;
use llm_run::note::Note;
use llm_run::plan::{Plan, own_data};
use llm_run::{Result, RunError};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
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
            let imported = self.run.recipe.data == DataSource::NONE;
            let read = own_data(&path, &self.run.recipe, &self.tokenizer);
            self.data = Some(read.map_err(|e| without(e, imported))?);
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
fn without(error: RunError, imported: bool) -> RunError {
    match error {
        RunError::Usage(_) if imported => {
            RunError::Data(message!("this model came without a text: give it one by set_data()"))
        }
        RunError::Usage(_) => RunError::Data(message!(
            "the text of this run is not at hand, only its hash: give it by set_data()"
        )),
        other => other,
    }
}

/// What a claim is, in its two lowest bits; above them stands its number.
const FREE: u64 = 0;
const BUSY: u64 = 1;
/// Told to stop; no call waits for its result.
const ENDING: u64 = 2;

/// What the thread that computes shares with the one that waits.
#[derive(Debug)]
pub struct Shared {
    /// Touched by who holds the claim alone.
    inner: Mutex<Inner>,
    /// The last claim's number, and what became of it.
    claim: AtomicU64,
    /// The process of the claim: after a fork the others' threads are gone.
    process: AtomicU32,
    /// The number of the claim that is told to stop.
    stopped: AtomicU64,
    step: AtomicU64,
}

/// Whether a claim can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It is the caller's, with this number.
    Mine(u64),
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
        Arc::new(Shared { inner: Mutex::new(inner), claim, process, stopped: 0.into(), step })
    }

    /// Claims the run.
    pub fn claim(&self) -> Claim {
        let me = std::process::id();
        let found = self.claim.load(Ordering::Acquire);
        let number = (found >> 2) + 1;
        let (order, else_order) = (Ordering::AcqRel, Ordering::Acquire);
        match found & 3 {
            FREE => match self.claim.compare_exchange(found, number << 2 | BUSY, order, else_order)
            {
                Ok(_) => {
                    self.process.store(me, Ordering::Release);
                    Claim::Mine(number)
                }
                Err(_) => Claim::Busy,
            },
            _ if self.process.load(Ordering::Acquire) != me => Claim::Lost,
            ENDING => Claim::Ending,
            _ => Claim::Busy,
        }
    }

    /// Gives the claim back.
    pub fn free(&self, number: u64) {
        self.claim.store(number << 2 | FREE, Ordering::Release);
    }

    /// Tells who works by this claim to stop, and that no call waits for what comes of it.
    pub fn end(&self, number: u64) {
        self.stopped.store(number, Ordering::Release);
        let (from, to) = (number << 2 | BUSY, number << 2 | ENDING);
        let _ = self.claim.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Whether who works by this claim is to stop.
    pub fn is_stopped(&self, number: u64) -> bool {
        self.stopped.load(Ordering::Acquire) == number
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
