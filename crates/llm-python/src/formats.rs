//! Files of other programs.

use crate::arrays::maybe_whole;
use crate::errors::of_format;
use crate::files::opened;
use crate::given::given_texts;
use crate::trainer::{Trainer, named};
use crate::{keywords, models};
use llm_core::{TinyGPT, message};
use llm_formats::error::FormatError;
use llm_formats::gguf::{self, Stored};
use llm_formats::imported::Imported;
use llm_formats::{hugging_face, tokenizers};
use llm_run::note::Note;
use llm_run::options::Options;
use llm_run::plan::Loaded;
use llm_run::{Result, RunError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use std::path::{Path, PathBuf};

/// How a model is read from a place.
type Import = fn(&Path) -> std::result::Result<Imported, FormatError>;

fn imported(path: &Path, import: Import) -> Result<(Loaded, Vec<Note>)> {
    let made = || -> std::result::Result<_, FormatError> {
        let imported = import(path)?;
        let notes = imported.notes.iter().map(|note| Note::Said(note.message())).collect();
        let (run, spec) = imported.into_trainer()?;
        let tokenizer = tokenizers::from_spec(&spec)?;
        let tokenizer = tokenizers::fit(tokenizer, run.model.config().vocab_size)?;
        Ok((Loaded { run, tokenizer, has_optimizer: false }, notes))
    };
    made().map_err(|e| of_format(e, path))
}

/// An error of writing for another program, with the trainer that can be written.
fn not_written(error: FormatError, model: &TinyGPT, path: &Path) -> RunError {
    let other = matches!(
        error,
        FormatError::HeadBias | FormatError::Piece { .. } | FormatError::NotInGguf { .. }
    );
    if !other {
        return of_format(error, path);
    }
    let way = match hugging_face::has_head_bias(model) {
        true => "head_bias=False, or arch=\"llama\"",
        false => "arch=\"llama\"",
    };
    RunError::Data(message!(
        "'{}': {}; make the trainer with {}, or keep it by save()",
        path.display(),
        error.message(),
        way
    ))
}

fn from_elsewhere(
    py: Python<'_>,
    path: PathBuf,
    import: Import,
    data: Option<&Bound<'_, PyAny>>,
    lora: Option<usize>,
    threads: Option<usize>,
    settings: Option<&Bound<'_, PyDict>>,
    of: &str,
) -> PyResult<Trainer> {
    let mut options = Options { given: keywords::given(settings, of)?, lora, ..Options::default() };
    given_texts(data, None, &mut options)?;
    opened(py, threads, options, move || {
        let (loaded, notes) = imported(&path, import)?;
        Ok((loaded, notes, path))
    })
}

#[pymethods]
impl Trainer {
    /// A model from a folder of Hugging Face's, of the kinds of GPT-2 and Llama. With `data` and `steps`
    /// it can be trained on, and with `lora` an adapter of that rank beside it, while the model stays as it is.
    #[classmethod]
    #[pyo3(signature = (folder, data=None, *, lora=None, threads=None, **settings))]
    fn from_hf(
        _cls: &Bound<'_, PyType>,
        py: Python<'_>,
        folder: PathBuf,
        data: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = maybe_whole)] lora: Option<usize>,
        #[pyo3(from_py_with = maybe_whole)] threads: Option<usize>,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Trainer> {
        let import: Import =
            |path| hugging_face::import(path, &|spec| models::MODERN.from_spec(spec));
        from_elsewhere(py, folder, import, data, lora, threads, settings, "from_hf")
    }

    /// A trainer from a GGUF file, llama.cpp's format; as `from_hf`.
    #[classmethod]
    #[pyo3(signature = (path, data=None, *, lora=None, threads=None, **settings))]
    fn from_gguf(
        _cls: &Bound<'_, PyType>,
        py: Python<'_>,
        path: PathBuf,
        data: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = maybe_whole)] lora: Option<usize>,
        #[pyo3(from_py_with = maybe_whole)] threads: Option<usize>,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Trainer> {
        let import: Import = |path| gguf::import(path, &|spec| models::MODERN.from_spec(spec));
        from_elsewhere(py, path, import, data, lora, threads, settings, "from_gguf")
    }

    /// Writes a new folder that `transformers.AutoModelForCausalLM.from_pretrained` reads. A bias of the
    /// output head has no place there: make the trainer with `arch="gpt2"` or `head_bias=False`.
    fn to_hf(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        self.worker.work(py, move |inner, _| {
            let model = &inner.plan.trainer.model;
            hugging_face::check_model(model).map_err(|e| not_written(e, model, &folder))?;
            hugging_face::prepare_folder(&folder)?;
            let written = hugging_face::export(&folder, model, &*inner.plan.tokenizer);
            written.map_err(|e| of_format(e, &folder))
        })
    }

    /// Writes a new folder with the adapter alone, which `peft.PeftModel.from_pretrained` reads beside the model.
    fn to_peft(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        self.worker.work(py, move |inner, _| {
            let model = &inner.plan.trainer.model;
            hugging_face::check_model(model).map_err(|e| not_written(e, model, &folder))?;
            if model.adapter().is_none() {
                let why = message!("the trainer has no adapter; to_hf() writes the whole model");
                return Err(RunError::Usage(why));
            }
            hugging_face::prepare_folder(&folder)?;
            hugging_face::peft::export(&folder, model).map_err(|e| of_format(e, &folder))
        })
    }

    /// Writes a file for llama.cpp and Ollama (and the `.Modelfile` that the latter reads), matrices
    /// stored as `f32`, `bf16` or `q8_0`.
    #[pyo3(signature = (path, *, stored="f32"))]
    fn to_gguf(&self, py: Python<'_>, path: PathBuf, stored: &str) -> PyResult<()> {
        let all = [Stored::F32, Stored::BF16, Stored::Q8_0];
        let name = |stored| match stored {
            Stored::F32 => "f32",
            Stored::BF16 => "bf16",
            Stored::Q8_0 => "q8_0",
        };
        let stored = named("stored", Some(stored), &all, name)?.unwrap_or_default();
        self.worker.work(py, move |inner, _| {
            let model = &inner.plan.trainer.model;
            let refused = |e| not_written(e, model, &path);
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            gguf::export(&path, model, &*inner.plan.tokenizer, stored, &name).map_err(refused)?;
            gguf::write_modelfile(&path, model, &*inner.plan.tokenizer)?;
            Ok(())
        })
    }
}
