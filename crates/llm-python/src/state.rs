//! What a trainer is between two calls, and who may touch it.

use crate::models::MODERN;
use llm_core::message;
use llm_core::recipe::DataSource;
use llm_core::train::StepReport;
use llm_run::data::{Data, Validation};
use llm_run::device::Device;
use llm_run::models::Models;
use llm_run::note::Note;
use llm_run::options::{Habits, Options};
use llm_run::plan::{Plan, own_data, with_habits};
use llm_run::{Result, RunError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A run, its text, and what was done here.
#[derive(Clone, Debug)]
pub struct Inner {
    /// The run: weights, optimizer, settings, step; its data, once they are needed; its notes.
    pub plan: Plan,
    /// The file that was loaded: the text that its folder remembers is read when it is needed.
    pub origin: Option<PathBuf>,
    /// The models that this run may become.
    pub models: &'static Models,
    /// Reports of the steps that were done here.
    pub history: Vec<StepReport>,
    /// Steps with the validation losses measured on the way and at the end, in nats per token.
    pub measured: Vec<(u64, f64)>,
    /// How the run is kept, measured and computed, where it is trained as the programs do it.
    pub options: Option<Options>,
    /// What the last training said about its device.
    pub on_device: Vec<Note>,
}

impl Inner {
    /// A run that may begin.
    pub fn of(plan: Plan, models: &'static Models) -> Inner {
        let (history, measured, on_device) = (Vec::new(), Vec::new(), Vec::new());
        Inner { plan, origin: None, models, history, measured, options: None, on_device }
    }

    /// A run that was read from a file; its text is read when it is needed.
    pub fn from_file(plan: Plan, path: &Path) -> Inner {
        Inner { origin: Some(path.into()), ..Inner::of(plan, &MODERN) }
    }

    /// What is asked for: a new run, or one that goes on in its folder.
    ///
    /// # Errors
    /// As [`Plan::new`] and [`Plan::check_target`].
    pub fn new(options: Options, models: &'static Models) -> Result<Inner> {
        let models = if options.load.is_some() { &MODERN } else { models };
        let options = with_habits(&options);
        let plan = Plan::new(models, &options, &|_, _| ())?;
        plan.check_target(&options)?;
        let Habits { eval_every, patience, skip_spikes, .. } = options.habits;
        let watched = eval_every.is_some() || patience.is_some() || skip_spikes.is_some();
        let is_driven = options.out.is_some() || options.device != Device::Cpu || watched;
        let (origin, options) = (plan.loaded.clone(), is_driven.then_some(options));
        Ok(Inner { origin, options, ..Inner::of(plan, models) })
    }

    /// A copy, which no folder keeps.
    pub fn copied(&self) -> Inner {
        let alone = |options: Options| Options { out: None, no_save: Some(true), ..options };
        Inner { options: self.options.clone().map(alone), ..self.clone() }
    }

    /// What it learns from.
    ///
    /// # Errors
    /// [`RunError::Data`] where that is not at hand, with what to do; what reading it says.
    pub fn data(&mut self) -> Result<&Data> {
        if self.plan.data.is_none() {
            let path = self.origin.clone().unwrap_or_else(|| "the trainer".into());
            let recipe = &self.plan.trainer.recipe;
            let imported = recipe.data == DataSource::NONE;
            let read = own_data(&path, recipe, &self.plan.tokenizer);
            self.plan.data = Some(read.map_err(|e| without(e, imported))?);
        }
        self.plan.data.as_ref().ok_or_else(|| RunError::Internal(message!("no data")))
    }

    /// The text that it does not learn.
    ///
    /// # Errors
    /// As [`Inner::data`]; [`RunError::Data`] where nothing is unseen.
    pub fn unseen(&mut self) -> Result<&Validation> {
        let why = message!("nothing was kept unseen ({val_frac}): give some data");
        self.data()?.val.as_ref().ok_or(RunError::Data(why))
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
    /// The claim is the caller's, with this number.
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
        let step = inner.plan.trainer.step.into();
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
        self.step.store(inner.plan.trainer.step, Ordering::Release);
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
