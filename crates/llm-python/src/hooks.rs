//! Functions of Python's that are shown what a model computes, and may put other numbers in its place.
//!
//! The model computes on a thread of its own. Where there is a function it asks Python's thread, which calls
//! it there, and waits for the answer; what the function raises ends the work.

use crate::arrays::{array, floats};
use crate::state::Inner;
use crate::trainer::Trainer;
use crate::work::{Stop, Worker};
use llm_core::model::{Probe, Site};
use llm_core::ndarray::{Array2, Array3, ArrayView3, Axis};
use llm_run::Result;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

/// Block and site.
type Place = (usize, Site);

/// A function, and the name of where it is called.
struct Hook<'py> {
    name: String,
    function: Bound<'py, PyAny>,
}

impl<'py> Hook<'py> {
    /// Calls the function with `[T, N]`; what is to stand there, or `None`.
    fn call(&self, value: Array2<f32>) -> PyResult<Option<Array2<f32>>> {
        let Hook { name, function } = self;
        let shape = [value.nrows(), value.ncols()];
        let shown = array(function.py(), &shape, value.into_iter().collect())?;
        let given = function.call1((shown, name))?;
        if given.is_none() {
            return Ok(None);
        }
        let (numbers, found) = floats(&given, &format!("what stands in the place of '{name}'"))?;
        let wrong = |_| {
            let why = format!(
                "what stands in the place of '{name}' has the shape {found:?}, not {shape:?}"
            );
            PyValueError::new_err(why)
        };
        // As many numbers in another shape are refused too.
        let rows = if found == shape { shape } else { [0, 0] };
        Array2::from_shape_vec(rows, numbers).map(Some).map_err(wrong)
    }
}

/// The place of a name.
///
/// # Errors
/// `ValueError` naming what there is.
fn place(name: &str, n_layers: usize) -> PyResult<Place> {
    let of = |layer: usize| Site::ALL.into_iter().map(move |site| (layer, site));
    let named = |(layer, site): &Place| format!("blocks.{layer}.{}", site.name()) == name;
    (0..n_layers).flat_map(of).find(named).ok_or_else(|| {
        let why = if (0..n_layers).any(|layer| format!("blocks.{layer}.pattern") == name) {
            format!("'{name}' can be read, by run_with_cache(), and not replaced")
        } else {
            format!("there is no '{name}'")
        };
        PyValueError::new_err(format!(
            "fwd_hooks: {why}: names are blocks.0 to blocks.{}, with .{}",
            n_layers - 1,
            Site::ALL.map(Site::name).join(", .")
        ))
    })
}

/// Pairs (name, function) with their places.
///
/// # Errors
/// `TypeError` for anything else; as [`place`].
fn hooks<'py>(
    given: &Bound<'py, PyAny>,
    n_layers: usize,
) -> PyResult<(Vec<Place>, Vec<Hook<'py>>)> {
    let expected = || {
        PyTypeError::new_err("fwd_hooks: expected a list of pairs (name, function(value, name))")
    };
    let (mut places, mut hooks) = (Vec::new(), Vec::new());
    for pair in given.try_iter().map_err(|_| expected())? {
        let (name, function): (String, Bound<'py, PyAny>) =
            pair?.extract().map_err(|_| expected())?;
        if !function.is_callable() {
            return Err(expected());
        }
        places.push(place(&name, n_layers)?);
        hooks.push(Hook { name, function });
    }
    Ok((places, hooks))
}

/// What is computed where a function is to be called: its number and `[T, N]`.
type Question = (usize, Array2<f32>);

/// Asks Python's thread at each place with a function.
struct Asking<'a> {
    places: Vec<Place>,
    stop: &'a Stop,
    questions: SyncSender<Question>,
    answers: Mutex<Receiver<Option<Array2<f32>>>>,
    /// Python's thread answers no more: what is still computed is thrown away.
    is_over: AtomicBool,
}

impl Asking<'_> {
    fn ask(&self, hook: usize, value: Array2<f32>) -> Option<Array2<f32>> {
        if self.is_over.load(Ordering::Relaxed) {
            return None;
        }
        let asked = self.questions.send((hook, value)).is_ok();
        self.stop.wake();
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = answers.recv();
        self.is_over.store(!asked || answer.is_err(), Ordering::Relaxed);
        answer.unwrap_or_default()
    }
}

impl Probe for Asking<'_> {
    fn wants_heads(&self) -> bool {
        false
    }

    fn value(&self, layer: usize, site: Site, x: ArrayView3<'_, f32>) -> Option<Array3<f32>> {
        let mut put: Option<Array3<f32>> = None;
        for hook in (0..self.places.len()).filter(|hook| self.places[*hook] == (layer, site)) {
            // One text is read at a time.
            let shown = put.as_ref().map_or(x, |put| put.view());
            let shown = shown.index_axis(Axis(0), 0).to_owned();
            if let Some(other) = self.ask(hook, shown) {
                put = Some(other.insert_axis(Axis(0)));
            }
        }
        put
    }
}

impl Trainer {
    /// Work during which functions of Python's, pairs (name, function), are called by the probe that `f`
    /// gets. It is done on a copy, which shares its memory, so that a function may use the trainer.
    ///
    /// # Errors
    /// What `f` says, what a function raises; `TypeError` and `ValueError` for what is no list of such pairs,
    /// names that there are not, and what a function returns that fits not.
    pub fn hooked<T: Send + 'static>(
        &self,
        py: Python<'_>,
        given: Option<&Bound<'_, PyAny>>,
        f: impl FnOnce(&mut Inner, &Stop, Option<&(dyn Probe + Sync)>) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let Some(given) = given else {
            return self.worker.work(py, move |inner, stop| f(inner, stop, None));
        };
        let copy = self.worker.now(py, |inner| Ok(inner.copied()))?;
        let (places, hooks) = hooks(given, copy.plan.trainer.model.config().n_layers)?;
        let (questions, asked) = sync_channel(1);
        let (answer, answers) = sync_channel(1);
        let work = move |inner: &mut Inner, stop: &Stop| {
            let (answers, is_over) = (Mutex::new(answers), AtomicBool::new(false));
            f(inner, stop, Some(&Asking { places, stop, questions, answers, is_over }))
        };
        let mut answer = Some(answer);
        Worker::new(copy, self.worker.threads).work_while(py, work, |_| {
            while let Ok((hook, value)) = asked.try_recv() {
                let called = hooks[hook].call(value);
                // Without a sender the work waits no longer.
                let called = called.inspect_err(|_| answer = None)?;
                if let Some(answer) = &answer {
                    let _ = answer.send(called); // the work may have been given up
                }
            }
            Ok(())
        })
    }
}
