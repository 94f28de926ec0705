//! The training of a trainer.

use crate::arrays::{maybe_whole, whole};
use crate::state::Inner;
use crate::trainer::{Trainer, warn, warn_of};
use crate::work::Stop;
use llm_core::checkpoint::Snapshot;
use llm_core::train::{Flow, Hooks, OneProcess, Pending, RunPlan, StepReport, Trainer as Run};
use llm_core::{Error, message};
use llm_report::Reporter;
use llm_run::folder::Target;
use llm_run::log::{Curves, Sample};
use llm_run::note::Note;
use llm_run::plan::{Plan, more_steps};
use llm_run::training::{Event, Face, Identity, PageOf, train};
use llm_run::{Result, RunError};
use numpy::PyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// The name of this front end in a run's folder.
const NAME: &str = "traingpt";

/// The steps that were done since the last look.
type Seen = Arc<Mutex<Vec<StepReport>>>;

/// The hooks of a run, whoever drives it: stops when it is asked to, and remembers what was done.
struct Watch<'a> {
    stop: &'a Stop,
    seen: &'a Seen,
    history: &'a mut Vec<StepReport>,
    measured: &'a mut Vec<(u64, f64)>,
}

impl Watch<'_> {
    fn stepped(&mut self, report: &StepReport) {
        self.stop.stepped(report.step);
        self.history.push(*report);
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(*report);
    }
}

impl Hooks for Watch<'_> {
    fn interrupted(&mut self) -> bool {
        self.stop.is_set()
    }

    fn before_update(&mut self, pending: &mut Pending<'_>) -> llm_core::Result<()> {
        if self.stop.is_set() { Err(Error::Stopped { step: pending.step }) } else { Ok(()) }
    }

    fn after_step(&mut self, _: Snapshot<'_>, report: &StepReport) -> llm_core::Result<Flow> {
        self.stepped(report);
        Ok(Flow::Continue(()))
    }
}

/// Asks Python's thread for a call of the callback with a copy of the run; `true` ends the run.
struct Ask {
    /// A copy of the run at the step of the call.
    copies: SyncSender<Inner>,
    answers: Receiver<bool>,
    /// Steps between two calls.
    every: u64,
    /// What a copy has besides weights, optimizer and step.
    rest: Inner,
}

impl Ask {
    fn call(&mut self, run: Snapshot<'_>, history: &[StepReport], stop: &Stop) -> bool {
        let Snapshot { model, optimizer, recipe, step } = run;
        let (model, optimizer, recipe) = (model.clone(), optimizer.boxed(), recipe.clone());
        let mut copy = self.rest.clone();
        copy.plan.trainer = Run { model, optimizer, recipe, step };
        copy.history = history.to_vec();
        let asked = self.copies.send(copy).is_ok();
        stop.wake();
        !asked || self.answers.recv().unwrap_or(true)
    }
}

/// The front end of a run that is trained as the programs train it.
struct Driver<'a> {
    watch: Watch<'a>,
    reporter: Reporter<fn(&Event<'_>)>,
    ask: Option<Ask>,
    is_over: bool,
    /// The file that the run is saved in.
    place: Option<PathBuf>,
    notes: Vec<Note>,
}

impl Face for Driver<'_> {
    fn begins(&mut self, plan: &Plan, target: Option<&Target>, who: &mut Identity) -> Result<()> {
        self.place = target.map(|target| target.path.clone());
        self.reporter.begins(plan, target, who)
    }

    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Note(note) => self.notes.push((*note).clone()),
            Event::Step { report, .. } => self.watch.stepped(report),
            Event::Measured { step, report } | Event::Result { step, report, .. } => {
                self.watch.measured.push((*step, report.evaluation.loss));
            }
            _ => {}
        }
    }

    fn signal(&self) -> Option<u8> {
        const INTERRUPT: u8 = 2;
        (self.is_over || self.watch.stop.is_set()).then_some(INTERRUPT)
    }

    fn sample(&mut self, of: Snapshot<'_>, _: &mut dyn FnMut(&Sample) -> Result<()>) -> Result<()> {
        if let Some(ask) = &mut self.ask {
            self.is_over |= ask.call(of, self.watch.history, self.watch.stop);
        }
        Ok(())
    }

    fn page(&mut self, of: &PageOf<'_>) -> Option<String> {
        self.reporter.page(of)
    }

    fn picture(&mut self, curves: &Curves) -> Option<String> {
        self.reporter.picture(curves)
    }
}

/// The next `n` steps, or those up to a stop.
fn steps(inner: &mut Inner, n: u64, stop: &Stop, seen: &Seen) -> Result<()> {
    let data = inner.data()?.train.clone();
    let Inner { plan, history, measured, .. } = inner;
    let trainer = &mut plan.trainer;
    // A callback may have trained, too: the plan's end stays its end.
    let left = trainer.recipe.total_steps.saturating_sub(trainer.step);
    let mut watch = Watch { stop, seen, history, measured };
    trainer.run(&data, &RunPlan::new(n.min(left)), &mut OneProcess, &mut watch)?;
    Ok(())
}

/// The next `n` steps as the programs do them: measured, kept in a folder, on a GPU, as it was asked for.
fn driven(inner: &mut Inner, n: u64, (stop, seen): (&Stop, &Seen), ask: Option<Ask>) -> Result<()> {
    inner.data()?;
    let Inner { plan, history, measured, on_device, options: Some(options), .. } = inner else {
        return Err(RunError::Internal(message!("a run without options")));
    };
    plan.steps = n;
    let mut options = options.clone();
    options.habits.sample_every = ask.as_ref().map(|ask| ask.every);
    let watch = Watch { stop, seen, history, measured };
    let reporter: Reporter<fn(&Event<'_>)> = Reporter::new(|_| ());
    let mut face = Driver { watch, reporter, ask, is_over: false, place: None, notes: Vec::new() };
    let identity = Identity::of(NAME, llm_core::threads::count());
    let done = train(plan, &options, identity, &mut face);
    let Driver { place, notes, .. } = face;
    *on_device = notes.into_iter().filter(|note| !plan.notes.contains(note)).collect();
    if let Some(path) = place.filter(|path| path.is_file()) {
        plan.loaded = Some(path); // the next steps go on there
    }
    match done {
        Err(RunError::Signal(_)) => Ok(()),
        done => done,
    }
}

/// The steps to do now; past the plan, a new one is made.
fn planned(inner: &mut Inner, asked: Option<u64>, lr: Option<f32>) -> Result<(u64, Option<Note>)> {
    let total = inner.plan.trainer.recipe.total_steps;
    let left = total.saturating_sub(inner.plan.trainer.step);
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
            let note = more_steps(inner.models, &mut inner.plan.trainer, n, lr)?;
            inner.plan.notes.extend(note.clone());
            Ok((n, note))
        }
    }
}

/// A call of `train()`: its callback, and the bar that shows how far it is.
struct Call<'a, 'py> {
    run: &'a Bound<'py, Trainer>,
    callback: Option<&'a Bound<'py, PyAny>>,
    every: u64,
    bar: Bound<'py, PyAny>,
    seen: Seen,
    done: Vec<StepReport>,
}

impl<'py> Call<'_, 'py> {
    /// Shows and remembers the steps since the last look.
    fn look(&mut self) -> PyResult<()> {
        let new = std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner));
        self.done.extend(&new);
        match new.last() {
            Some(last) => self.bar.call_method1("update", (new.len(), last.loss)).map(drop),
            None => Ok(()),
        }
    }

    /// Calls the callback with `run` and the last step; whether that ends the training.
    fn called(&self, run: &Bound<'py, Trainer>) -> PyResult<bool> {
        let py = run.py();
        let (Some(callback), Some(last)) = (self.callback, self.done.last()) else {
            return Ok(false);
        };
        py.check_signals()?;
        Ok(callback.call1((run, report(py, last)?))?.extract().unwrap_or(false))
    }

    /// Steps with nothing around them. Between two calls of the callback the trainer is free.
    fn plain(&mut self, mut left: u64) -> PyResult<()> {
        while left > 0 {
            let n = if self.callback.is_some() { left.min(self.every) } else { left };
            let (seen, before) = (self.seen.clone(), self.done.len());
            let worker = &self.run.get().worker;
            let work = move |inner: &mut Inner, stop: &Stop| steps(inner, n, stop, &seen);
            worker.work_while(self.run.py(), work, |_| self.look())?;
            self.look()?;
            let new = (self.done.len() - before) as u64;
            left -= new.min(left);
            if new == 0 || self.called(self.run)? {
                break;
            }
        }
        Ok(())
    }

    /// Steps as the programs do them. The callback gets a copy of the trainer.
    fn driven(&mut self, n: u64) -> PyResult<()> {
        let worker = &self.run.get().worker;
        let (copies, taken) = sync_channel(1);
        let (answer, answers) = sync_channel(1);
        let (seen, every) = (self.seen.clone(), self.callback.map(|_| self.every));
        let work = move |inner: &mut Inner, stop: &Stop| {
            inner.data()?;
            let rest = inner.copied();
            let ask = every.map(|every| Ask { copies, answers, every, rest });
            driven(inner, n, (stop, &seen), ask)
        };
        let threads = worker.threads;
        worker.work_while(self.run.py(), work, |py| {
            self.look()?;
            if let Ok(copy) = taken.try_recv() {
                let ends = self.called(&Bound::new(py, Trainer::of(copy, Some(threads))?)?)?;
                let _ = answer.send(ends); // the run may have ended meanwhile
            }
            Ok(())
        })?;
        self.look()
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
    /// A trainer with `out`, a GPU or measurements is trained as the programs train: at the end the loss on
    /// unseen text is measured, and the folder has the checkpoint, the log and the page. `callback` then
    /// gets a copy of the trainer, at steps whose number is a multiple of `every`.
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
        let ((left, note), is_driven) = worker
            .work(py, move |inner, _| Ok((planned(inner, steps, lr)?, inner.options.is_some())))?;
        warn(py, note.as_slice())?;
        if steps.is_none() && left == 0 {
            let why = "no step is left of the plan: train(n) makes n more";
            warn_of(py, why.into())?;
        }
        let bar = py.import("traingpt._progress")?.call_method1("bar", (left, progress))?;
        let (every, seen, done) = (every.max(1), Seen::default(), Vec::new());
        let mut call = Call { run: slf, callback, every, bar, seen, done };
        let ended = if is_driven && left > 0 { call.driven(left) } else { call.plain(left) };
        call.bar.call_method0("close")?;
        ended?;
        columns(py, &call.done)
    }

    /// All steps that were done with this object, as `train()` returns them; where unseen text was measured
    /// also `val_step` and `val_loss`, a number for each measurement.
    #[getter]
    fn history<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.worker.now(py, |inner| {
            let all = columns(py, &inner.history)?;
            if !inner.measured.is_empty() {
                let (steps, losses): (Vec<_>, Vec<_>) =
                    inner.measured.iter().map(|(step, loss)| (*step as i64, *loss)).unzip();
                all.set_item("val_step", PyArray1::from_vec(py, steps))?;
                all.set_item("val_loss", PyArray1::from_vec(py, losses))?;
            }
            Ok(all)
        })
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
