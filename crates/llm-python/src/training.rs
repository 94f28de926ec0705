//! Its steps.

use crate::arrays::{maybe_whole, whole};
use crate::state::Inner;
use crate::trainer::{Trainer, warn, warn_of};
use crate::work::Stop;
use llm_core::train::{Hooks, OneProcess, Pending, StepReport};
use llm_core::{Error, message};
use llm_run::plan::more_steps;
use llm_run::{Result, RunError};
use numpy::PyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex, PoisonError};

/// Gives a step up that is not done, when that is asked for.
struct Stopping<'a>(&'a Stop);

impl Hooks for Stopping<'_> {
    fn interrupted(&mut self) -> bool {
        self.0.is_set()
    }

    fn before_update(&mut self, pending: &mut Pending<'_>) -> llm_core::Result<()> {
        match self.0.is_set() {
            true => Err(Error::Stopped { step: pending.step }),
            false => Ok(()),
        }
    }
}

/// The steps that were done since the last look.
type Seen = Arc<Mutex<Vec<StepReport>>>;

/// The next `n` steps, or those up to a stop.
fn steps(inner: &mut Inner, n: u64, stop: &Stop, seen: &Seen) -> Result<Vec<StepReport>> {
    let data = inner.data()?.train.clone();
    let mut done = Vec::new();
    // A callback may have trained, too: the plan's end stays its end.
    let left = inner.run.recipe.total_steps.saturating_sub(inner.run.step);
    for _ in 0..n.min(left) {
        if stop.is_set() {
            break;
        }
        match inner.run.step_with(&data, &mut OneProcess, &mut Stopping(stop)) {
            Ok(report) => {
                stop.stepped(report.step);
                inner.history.push(report);
                done.push(report);
                seen.lock().unwrap_or_else(PoisonError::into_inner).push(report);
            }
            Err(Error::Stopped { .. }) => break,
            Err(e) => return Err(e.into()),
        }
    }
    Ok(done)
}

/// The steps to do now; past the plan, a new one is made.
fn planned(
    inner: &mut Inner,
    asked: Option<u64>,
    lr: Option<f32>,
) -> Result<(u64, Option<llm_run::note::Note>)> {
    let total = inner.run.recipe.total_steps;
    let left = total.saturating_sub(inner.run.step);
    match asked {
        _ if lr.is_some() && (left > 0 || asked.is_none()) => Err(RunError::Usage(message!(
            "{lr}: it is for steps beyond the plan, and {} of the {} that were planned are left",
            left,
            total
        ))),
        None => Ok((left, None)),
        Some(n) if n <= left => Ok((n, None)),
        Some(n) if left > 0 => Err(RunError::Usage(message!(
            "{steps} {}: of the {} that were planned {} are left; train() does those, and train({}) \
             then goes on beyond them",
            n,
            total,
            left,
            n
        ))),
        Some(n) => {
            inner.data()?; // no plan without something to learn
            let note = more_steps(inner.models, &mut inner.run, n, lr)?;
            inner.notes.extend(note.clone());
            Ok((n, note))
        }
    }
}

#[pymethods]
impl Trainer {
    /// Trains `steps` steps more, by default those that are left of the plan.
    ///
    /// Every `every` steps `callback(run, report)` is called, with `report` a dict of `step`, `loss`,
    /// `lr`, `grad_norm`; it may use the trainer, and ends the call by returning `True`. Ctrl-C at any
    /// time raises `KeyboardInterrupt` and loses at most the step in progress; `history` has the rest.
    /// Past the plan's end the learning rate has come down to 0, and a new course begins, at `lr` or a
    /// tenth of the last one's.
    ///
    /// Returns a dict of arrays, a number for each step done: `step`, `loss`, `lr`, `grad_norm`.
    #[pyo3(signature = (steps=None, callback=None, *, every=1, lr=None, progress=None))]
    fn train<'py>(
        slf: &Bound<'py, Trainer>,
        #[pyo3(from_py_with = maybe_whole)] steps: Option<u64>,
        callback: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = whole)] every: u64,
        lr: Option<f32>,
        progress: Option<bool>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (py, worker) = (slf.py(), &slf.get().worker);
        if let Some(callback) = callback.filter(|callback| !callback.is_callable()) {
            let why = format!("callback: {} is no function of (run, report)", callback.repr()?);
            return Err(PyTypeError::new_err(why));
        }
        let (mut left, note) = worker.work(py, move |inner, _| planned(inner, steps, lr))?;
        warn(py, note.as_slice())?;
        if steps.is_none() && left == 0 {
            let why = "no step is left of the plan: train(n) makes n more";
            warn_of(py, why.into())?;
        }
        let bar = py.import("traingpt._progress")?.call_method1("bar", (left, progress))?;
        let mut done: Vec<StepReport> = Vec::new();
        let ended = (|| -> PyResult<()> {
            while left > 0 {
                let n = if callback.is_some() { left.min(every.max(1)) } else { left };
                let seen = Seen::default();
                let watched = seen.clone();
                let shown = |seen: &Seen| -> PyResult<()> {
                    let new =
                        std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
                    match new.last() {
                        Some(last) => bar.call_method1("update", (new.len(), last.loss)).map(drop),
                        None => Ok(()),
                    }
                };
                let found = worker.work_while(
                    py,
                    move |inner, stop| self::steps(inner, n, stop, &seen),
                    |_| shown(&watched),
                )?;
                shown(&watched)?;
                left -= (found.len() as u64).min(left);
                let last = found.last().copied();
                done.extend(found);
                let Some(last) = last else { break };
                if let Some(callback) = callback {
                    py.check_signals()?;
                    if callback.call1((slf, report(py, &last)?))?.extract().unwrap_or(false) {
                        break;
                    }
                }
            }
            Ok(())
        })();
        bar.call_method0("close")?;
        ended?;
        columns(py, &done)
    }

    /// All steps that were done with this object, as `train()` returns them.
    #[getter]
    fn history<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.worker.now(py, |inner| columns(py, &inner.history))
    }
}

fn report<'py>(py: Python<'py>, of: &StepReport) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("step", of.step)?;
    all.set_item("loss", of.loss)?;
    all.set_item("lr", of.lr)?;
    all.set_item("grad_norm", of.grad_norm)?;
    Ok(all)
}

fn columns<'py>(py: Python<'py>, reports: &[StepReport]) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    let column = |of: fn(&StepReport) -> f32| PyArray1::from_iter(py, reports.iter().map(of));
    all.set_item("step", PyArray1::from_iter(py, reports.iter().map(|of| of.step as i64)))?;
    all.set_item("loss", column(|of| of.loss))?;
    all.set_item("lr", column(|of| of.lr))?;
    all.set_item("grad_norm", column(|of| of.grad_norm))?;
    Ok(all)
}
