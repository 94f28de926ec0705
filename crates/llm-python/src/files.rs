//! Checkpoints: the files of the programs.

use crate::arrays::maybe_whole;
use crate::given::given_texts;
use crate::state::Inner;
use crate::trainer::{Trainer, number_of_threads, warn};
use crate::work::apart;
use crate::{keywords, models};
use llm_core::checkpoint::{self, TokenizerSpec};
use llm_core::train::check_usable;
use llm_run::folder::to_load;
use llm_run::note::Note;
use llm_run::options::Options;
use llm_run::plan::{Apart, Loaded, load_beside, taken_up};
use llm_run::{Result, RunError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use std::path::{Path, PathBuf};

/// A run that goes on with what is asked for.
///
/// # Errors
/// As for the programs' `--load`.
pub fn went_on(options: &Options, loaded: Loaded, path: &Path) -> Result<Inner> {
    Ok(Inner::from_file(taken_up(&models::MODERN, options, loaded, path)?, path))
}

/// A run that was read, with what there is to say about it and where it came from; it goes on where data or
/// settings are given.
///
/// # Errors
/// What `read` says; as [`went_on`].
pub fn opened(
    py: Python<'_>,
    threads: Option<usize>,
    options: Options,
    read: impl FnOnce() -> Result<(Loaded, Vec<Note>, PathBuf)> + Send + 'static,
) -> PyResult<Trainer> {
    let n = number_of_threads(threads)?;
    let (loaded, mut notes, path) = apart(py, n, read)?;
    let asks = !options.data.is_empty() || !options.val.is_empty() || !options.given.is_empty();
    let mut inner = if !asks && options.lora.is_none() {
        Inner::from_file(loaded.into(), &path)
    } else {
        apart(py, n, move || went_on(&options, loaded, &path))?
    };
    warn(py, &inner.plan.notes)?;
    notes.append(&mut inner.plan.notes);
    inner.plan.notes = notes;
    Trainer::of(inner, Some(n))
}

#[pymethods]
impl Trainer {
    /// Saves the run as a checkpoint, which every program of the project opens; afterwards there is the
    /// whole new file, or, where that fails, the old one. Without `optimizer` a third of the size, and
    /// training goes on with an optimizer that has forgotten.
    #[pyo3(signature = (path, *, optimizer=true))]
    fn save(&self, py: Python<'_>, path: PathBuf, optimizer: bool) -> PyResult<()> {
        self.worker.work(py, move |inner, _| {
            check_usable((&inner.plan.trainer).into())?;
            let tokenizer = TokenizerSpec::of(&*inner.plan.tokenizer);
            Ok(checkpoint::save(&path, &inner.plan.trainer, &tokenizer, optimizer)?)
        })
    }

    /// Loads a checkpoint, or the folder of a run of the programs. Its text is read when it is needed,
    /// where the run's folder remembers it; else it is given as `data`, and checked by its hash unless
    /// `allow_data_change`. Settings replace those of the run as they do for the programs: `steps` are so
    /// many more. With `lora` an adapter of that rank begins to learn on `data` beside the model, which stays as it
    /// is; the checkpoint of an adapter names the file of that model, and `base` does where it has moved.
    #[classmethod]
    #[pyo3(signature = (
        path, data=None, *, val=None, allow_data_change=false, lora=None, base=None, threads=None, **settings
    ))]
    #[expect(clippy::too_many_arguments, reason = "arguments by keyword")]
    fn load(
        _cls: &Bound<'_, PyType>,
        py: Python<'_>,
        path: PathBuf,
        data: Option<&Bound<'_, PyAny>>,
        val: Option<&Bound<'_, PyAny>>,
        allow_data_change: bool,
        #[pyo3(from_py_with = maybe_whole)] lora: Option<usize>,
        base: Option<PathBuf>,
        #[pyo3(from_py_with = maybe_whole)] threads: Option<usize>,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Trainer> {
        let mut options = Options {
            given: keywords::given(settings, "load")?,
            lora,
            allow_data_change: allow_data_change.then_some(true),
            ..Options::default()
        };
        given_texts(data, val, &mut options)?;
        opened(py, threads, options, move || {
            let path = to_load(&path)?;
            let apart = Apart { base: base.as_deref(), adapter: None };
            let (loaded, _) = load_beside(&models::MODERN, &path, apart)?;
            Ok((loaded, Vec::new(), path))
        })
    }

    /// Gives the run its text, or with `allow_data_change` another one.
    #[pyo3(signature = (data, *, val=None, allow_data_change=false))]
    fn set_data(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        val: Option<&Bound<'_, PyAny>>,
        allow_data_change: bool,
    ) -> PyResult<()> {
        let mut options =
            Options { allow_data_change: allow_data_change.then_some(true), ..Options::default() };
        given_texts(Some(data), val, &mut options)?;
        let notes = self.worker.work(py, move |inner, _| {
            let (run, tokenizer) = (inner.plan.trainer.clone(), inner.plan.tokenizer.clone());
            let path = inner.origin.clone().unwrap_or_else(|| "the trainer".into());
            let loaded = Loaded { run, tokenizer, has_optimizer: true };
            let new = went_on(&options, loaded, &path)?;
            if new.plan.data.is_none() {
                return Err(RunError::Internal(llm_core::message!("data that were not read")));
            }
            (inner.plan.trainer, inner.plan.data) = (new.plan.trainer, new.plan.data);
            inner.plan.notes.extend(new.plan.notes.clone());
            Ok(new.plan.notes)
        })?;
        warn(py, &notes)
    }
}
