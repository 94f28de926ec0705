//! The class: made, described, copied.

use crate::arrays::maybe_whole;
use crate::given::given_texts;
use crate::state::Inner;
use crate::words::said;
use crate::work::{Worker, apart};
use crate::{keywords, models};
use llm_core::base::machine;
use llm_core::checkpoint::{Checkpoint, TokenizerSpec, to_bytes};
use llm_core::recipe::{DataForm, EndOfText};
use llm_core::settings::Value;
use llm_messages::note as in_words;
use llm_report::loss_picture;
use llm_run::arch::Arch;
use llm_run::defaults::Preset;
use llm_run::log::Curves;
use llm_run::note::Note;
use llm_run::options::{Habits, Options};
use llm_run::plan::opened;
use llm_run::tokenizers::{TokenizerKind, TokenizerOptions};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};
use std::path::{Path, PathBuf};

/// What a pickled trainer is called in errors.
pub const PICKLED: &str = "the pickled trainer";

/// A GPT and its training run.
///
/// `data`: a text (`str`), bytes, a `pathlib.Path` of a file or folder, a list of such paths,
/// conversations (`[{"messages": [..]}, ..]`), or a row of token numbers (any integer array, below 65536);
/// nothing: the built-in stories. The last tenth is kept unseen (`val_frac`), or `val` is. `heads`: 4 by default. `tokenizer`: `byte`, `char`, `bpe` (of
/// `vocab_size` tokens), or the path of a tokenizer.json. Every other keyword argument is a setting:
/// `traingpt.settings_help()`.
///
/// `out`: a folder in which the run is kept as the programs keep it, with its log, its best state and a page; where a
/// run lies there already, it goes on. `device`: `cpu`, `gpu`, `gpu:1` or `gpu:NAME`. `eval_every`, `save_every`: steps between
/// two measurements, two saves. `patience`: measurements without a better loss after which training stops.
/// `skip_spikes`: standard deviations by which an update that is left out stands out.
///
/// Equal arguments give equal bits, with any number of threads, and those of
/// the programs `train-gpt-mha` and, where something modern is asked for, `train-gpt-modern`.
#[pyclass(frozen, weakref, module = "traingpt")]
#[derive(Debug)]
pub struct Trainer {
    pub worker: Worker,
}

impl Trainer {
    pub fn of(inner: Inner, threads: Option<usize>) -> PyResult<Trainer> {
        Ok(Trainer { worker: Worker::new(inner, number_of_threads(threads)?) })
    }
}

/// What makes a pickled object again: a function and its arguments.
type Reduced<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>, usize));

/// As many as are asked for, or as there are fast cores.
///
/// # Errors
/// `ValueError` for none, or too many.
pub fn number_of_threads(threads: Option<usize>) -> PyResult<usize> {
    match threads.unwrap_or_else(|| machine::cores().free) {
        n @ 1..=llm_core::threads::MAX => Ok(n),
        n => {
            let most = llm_core::threads::MAX;
            Err(PyValueError::new_err(format!("threads: {n} is outside 1..={most}")))
        }
    }
}

/// One of some by its name.
///
/// # Errors
/// `ValueError` naming all.
pub fn named<T: Copy>(
    option: &str,
    name: Option<&str>,
    all: &[T],
    name_of: impl Fn(T) -> &'static str,
) -> PyResult<Option<T>> {
    let Some(name) = name else { return Ok(None) };
    let found = all.iter().copied().find(|one| name_of(*one) == name);
    found.map(Some).ok_or_else(|| {
        let names: Vec<String> = all.iter().map(|one| format!("'{}'", name_of(*one))).collect();
        PyValueError::new_err(format!("{option} '{name}': valid values: {}", names.join(", ")))
    })
}

/// Warns of what has no effect or does not what one would think.
///
/// # Errors
/// The warning, where warnings are errors.
pub fn warn(py: Python<'_>, notes: &[Note]) -> PyResult<()> {
    notes
        .iter()
        .filter(|note| note.is_warning())
        .try_for_each(|note| warn_of(py, said(&in_words(note))))
}

/// Warns, from the line that called.
///
/// # Errors
/// As [`warn`].
pub fn warn_of(py: Python<'_>, text: String) -> PyResult<()> {
    let category = py.get_type::<pyo3::exceptions::PyUserWarning>();
    py.import("warnings")?.call_method1("warn", (text, category, 1)).map(drop)
}

#[pymethods]
impl Trainer {
    #[new]
    #[pyo3(signature = (data=None, *, attention=None, arch=None, tokenizer=None, vocab_size=None, val=None, epochs=None, preset=None, data_as=None, end_of_text=None, out=None, device=None, eval_every=None, save_every=None, patience=None, skip_spikes=None, threads=None, **settings))]
    fn new(
        py: Python<'_>,
        data: Option<&Bound<'_, PyAny>>,
        attention: Option<&str>,
        arch: Option<&str>,
        tokenizer: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = maybe_whole)] vocab_size: Option<usize>,
        val: Option<&Bound<'_, PyAny>>,
        epochs: Option<f64>,
        preset: Option<&str>,
        data_as: Option<&str>,
        end_of_text: Option<&str>,
        out: Option<PathBuf>,
        device: Option<&str>,
        #[pyo3(from_py_with = maybe_whole)] eval_every: Option<u64>,
        #[pyo3(from_py_with = maybe_whole)] save_every: Option<u64>,
        #[pyo3(from_py_with = maybe_whole)] patience: Option<u64>,
        skip_spikes: Option<f32>,
        #[pyo3(from_py_with = maybe_whole)] threads: Option<usize>,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Trainer> {
        let n = number_of_threads(threads)?;
        let given_settings = keywords::given(settings, "Trainer")?;
        if epochs.is_some() && given_settings.contains_key("steps") {
            return Err(PyValueError::new_err("steps or epochs: both say how long; leave one out"));
        }
        if out.is_none() && save_every.is_some() {
            return Err(PyValueError::new_err("save_every: it needs out, a folder to save in"));
        }
        let habits = Habits { eval_every, save_every, patience, skip_spikes, ..Habits::default() };
        let no_save = out.is_none().then_some(true);
        let kept = out.as_deref().map_or_else(Options::default, Options::in_folder);
        let device = device.unwrap_or("cpu").parse().map_err(PyValueError::new_err)?;
        let mut options = Options {
            device,
            habits,
            no_save,
            given: given_settings,
            arch: named("arch", arch, &Arch::ALL, Arch::name)?,
            preset: named("preset", preset, &[Preset::Original], Preset::name)?,
            epochs,
            data_as: named("data_as", data_as, &DataForm::ALL, DataForm::name)?,
            end_of_text: named("end_of_text", end_of_text, &EndOfText::ALL, EndOfText::name)?,
            tokenizer: TokenizerOptions {
                kind: tokenizer.map(kind_of_tokenizer).transpose()?,
                vocab_size,
                ..TokenizerOptions::default()
            },
            ..kept
        };
        given_texts(data, val, &mut options)?;
        let models = models::of_new(attention, options.arch, &options.given);
        let models = models.map_err(PyValueError::new_err)?;
        if attention == Some("single-head") {
            options.given.entry("heads").or_insert(Value::Whole(1));
        }
        let inner = apart(py, n, move || Inner::new(options, models))?;
        warn(py, &inner.plan.notes)?;
        Trainer::of(inner, Some(n))
    }

    /// Steps done.
    #[getter]
    fn step(&self) -> u64 {
        self.worker.step()
    }

    /// Steps planned in all.
    #[getter]
    fn steps(&self, py: Python<'_>) -> PyResult<u64> {
        self.worker.now(py, |inner| Ok(inner.plan.trainer.recipe.total_steps))
    }

    /// Number of weights.
    #[getter]
    fn parameters(&self, py: Python<'_>) -> PyResult<u64> {
        self.worker.now(py, |inner| Ok(inner.plan.trainer.model.parameter_count()))
    }

    /// Number of different tokens.
    #[getter]
    fn vocab_size(&self, py: Python<'_>) -> PyResult<usize> {
        self.worker.now(py, |inner| Ok(inner.plan.trainer.model.config().vocab_size))
    }

    /// Threads that work on a call. The results do not depend on their number.
    #[getter]
    fn threads(&self) -> usize {
        self.worker.threads
    }

    /// What there was to say about the run, and about the device of its last training.
    #[getter]
    fn notes(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.worker.now(py, |inner| {
            let label = inner.plan.data.as_ref().map(|data| said(&data.label));
            let notes = inner.plan.notes.iter().chain(&inner.on_device);
            Ok(label.into_iter().chain(notes.map(|note| said(&in_words(note)))).collect())
        })
    }

    /// All settings by their keywords: `Trainer(data, **run.settings)` makes such a run again.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.worker.now(py, |inner| {
            let (config, recipe) = (inner.plan.trainer.model.config(), &inner.plan.trainer.recipe);
            let spec = inner.plan.trainer.model.attention().spec();
            let all = PyDict::new(py);
            all.set_item("attention", &spec.name)?;
            let further = models::MODERN.kind(&spec.name).is_some();
            keywords::described(config, recipe, &spec, further, &all)?;
            Ok(all)
        })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.worker.now(py, |inner| {
            let (config, spec) = (inner.plan.trainer.model.config(), inner.plan.trainer.model.attention().spec());
            let count = |n: usize, of: &str| format!("{n} {of}{}", if n == 1 { "" } else { "s" });
            Ok(format!(
                "Trainer({} parameters: {}, {}, width {}, context {}, vocabulary {}; step {} of {})",
                llm_core::base::thousands(inner.plan.trainer.model.parameter_count()),
                count(config.n_layers, "layer"),
                count(spec.n_heads, "head"),
                config.d_model,
                config.seq_len,
                config.vocab_size,
                inner.plan.trainer.step,
                inner.plan.trainer.recipe.total_steps
            ))
        })
    }

    /// The curve of its loss as a picture, SVG; nothing where there are no two steps.
    fn _curve(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.worker.now(py, |inner| {
            let steps = inner.history.iter().map(|of| (of.step, of.loss));
            let curves = Curves::of_steps(steps, inner.plan.trainer.model.config().vocab_size);
            Ok(if inner.history.len() > 1 { loss_picture(&curves) } else { None })
        })
    }

    /// The curve of its loss and a text that it writes, for a notebook.
    fn _repr_html_(slf: &Bound<'_, Trainer>) -> PyResult<String> {
        slf.py().import("traingpt._html")?.call_method1("html", (slf,))?.extract()
    }

    /// An independent copy, its text included; memory is shared until one of the two changes.
    #[pyo3(signature = (memo=None))]
    fn __deepcopy__(&self, py: Python<'_>, memo: Option<&Bound<'_, PyAny>>) -> PyResult<Trainer> {
        let _ = memo;
        self.__copy__(py)
    }

    /// Same as `__deepcopy__`.
    fn __copy__(&self, py: Python<'_>) -> PyResult<Trainer> {
        let inner = self.worker.now(py, |inner| Ok(inner.copied()))?;
        Trainer::of(inner, Some(self.worker.threads))
    }

    /// Pickled as a checkpoint. The text does not travel, only its hash: `set_data()` gives it.
    fn __reduce__<'py>(slf: &Bound<'py, Trainer>) -> PyResult<Reduced<'py>> {
        let (py, worker) = (slf.py(), &slf.get().worker);
        let bytes = worker.work(py, |inner, _| {
            Ok(to_bytes(&inner.plan.trainer, &TokenizerSpec::of(&*inner.plan.tokenizer), true)?)
        })?;
        let make = py.get_type::<Trainer>().getattr("_from_bytes")?;
        Ok((make, (PyBytes::new(py, &bytes), worker.threads)))
    }

    #[classmethod]
    fn _from_bytes(
        _cls: &Bound<'_, PyType>,
        py: Python<'_>,
        bytes: Vec<u8>,
        threads: usize,
    ) -> PyResult<Trainer> {
        let models = &models::MODERN;
        let loaded = apart(py, threads, move || {
            let file = Checkpoint::from_bytes_with(PICKLED, &bytes, models.optimizers)?;
            opened(models, Path::new(PICKLED), file)
        })?;
        Trainer::of(Inner::from_file(loaded.into(), Path::new(PICKLED)), Some(threads))
    }
}

/// A tokenizer by its name, or a path to one.
fn kind_of_tokenizer(tokenizer: &Bound<'_, PyAny>) -> PyResult<TokenizerKind> {
    let is_path = tokenizer.hasattr("__fspath__")?;
    let path = || tokenizer.extract::<PathBuf>().map(TokenizerKind::File);
    if is_path {
        return path();
    }
    let name = tokenizer.extract::<String>();
    let expected = "tokenizer: expected 'byte', 'char', 'bpe' or the path of a tokenizer.json";
    match name.map_err(|_| PyTypeError::new_err(expected))?.as_str() {
        "byte" => Ok(TokenizerKind::Byte),
        "char" => Ok(TokenizerKind::Char),
        "bpe" => Ok(TokenizerKind::Bpe),
        other if Path::new(other).exists() => path(),
        other => Err(PyValueError::new_err(format!(
            "tokenizer '{other}': valid values: 'byte', 'char', 'bpe', and the path of a tokenizer.json"
        ))),
    }
}
