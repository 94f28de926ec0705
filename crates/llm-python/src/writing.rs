//! Text from the model, and text as tokens.

use crate::arrays::{maybe_whole, whole, whole_numbers};
use crate::errors::raised;
use crate::given::{Read, as_tokens, read};
use crate::state::Inner;
use crate::trainer::Trainer;
use crate::work::Stop;
use llm_core::base::memory;
use llm_core::generate::{Generator, Sampling, Stops, Written};
use llm_core::model::Probe;
use llm_core::tokenizer::Tokenizer;
use llm_core::{Error, TokenId};
use llm_run::data::Beginning;
use llm_run::defaults::TextDefaults;
use llm_run::{Result, RunError};
use numpy::PyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// What a token stands for: its text, or its bytes written out; its number where it has none.
pub fn piece(tokenizer: &dyn Tokenizer, token: TokenId) -> String {
    let bytes = tokenizer.bytes_of(token);
    match std::str::from_utf8(bytes) {
        Ok("") => format!("[{token}]"),
        Ok(text) => text.into(),
        Err(_) => bytes.escape_ascii().to_string(),
    }
}

/// One text or several.
fn texts(stop: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let expected = |_| PyTypeError::new_err("stop: expected a text or a list of texts");
    stop.extract().map(|one| vec![one]).or_else(|_| stop.extract()).map_err(expected)
}

/// Refuses a tokenizer whose tokens stand for no text: they would be written as nothing.
fn has_text(tokenizer: &dyn Tokenizer) -> Result<()> {
    match tokenizer.encode(b"a") {
        Err(e @ Error::NumbersOnly) => Err(e.into()),
        _ => Ok(()),
    }
}

/// What is to be written.
struct Ask {
    prompt: Option<Read>,
    n: Option<usize>,
    temperature: Option<f32>,
    seed: Option<u64>,
    sampling: Sampling,
    stops: Stops,
}

/// Writes it, as the programs do; with a probe each token is computed anew.
fn write(
    inner: &Inner,
    ask: Ask,
    stop: &Stop,
    probe: Option<&(dyn Probe + Sync)>,
) -> Result<Written> {
    let Ask { prompt, n, temperature, seed, sampling, stops } = ask;
    let usual = TextDefaults::choose(None);
    let (model, tokenizer) = (&inner.plan.trainer.model, &*inner.plan.tokenizer);
    let prompt = match prompt {
        Some(prompt) => prompt.row(tokenizer)?,
        None => Beginning::of(&inner.plan.trainer.recipe.data, tokenizer)?.tokens,
    };
    let sampling = Sampling {
        temperature: temperature.unwrap_or(usual.temperature),
        seed: seed.unwrap_or(inner.plan.trainer.recipe.seed),
        ..sampling
    };
    memory::require(model.inference_memory(1, model.config().seq_len))?;
    let generator = Generator::new(model, &prompt, sampling, 1)?;
    let mut generator = match probe {
        Some(probe) => generator.with_probe(probe),
        None => generator,
    };
    let go_on = |_: &mut Generator<'_>, _: &_| Ok::<_, RunError>(!stop.is_set());
    generator.write(tokenizer, n.unwrap_or(usual.n), &stops, go_on)
}

#[pymethods]
impl Trainer {
    /// Writes on: the text that follows `prompt` (a text or token numbers; without one it begins as the
    /// texts do that were learned: the token between texts or a line's end, on the built-in stories the
    /// beginning of an unseen one), `n` tokens of it, or up to a token that
    /// ends texts or `stop`, a text or a list of them.
    ///
    /// `temperature` 0 takes the likeliest token each time; `top_k`, `top_p`, `min_p` keep the likeliest
    /// alone; `repetition_penalty` above 1 avoids what was written. Equal `seed`s write equal texts.
    ///
    /// `fwd_hooks` as in `run_with_hooks`; each token is then computed anew from all that the context has
    /// room for, so that the arrays grow by a row with each, and stay at T rows when it is full.
    #[pyo3(signature = (prompt=None, n=None, *, temperature=None, top_k=0, top_p=1.0, min_p=0.0, repetition_penalty=1.0, seed=None, stop=None, fwd_hooks=None))]
    fn sample(
        &self,
        py: Python<'_>,
        prompt: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = maybe_whole)] n: Option<usize>,
        temperature: Option<f32>,
        #[pyo3(from_py_with = whole)] top_k: usize,
        top_p: f32,
        min_p: f32,
        repetition_penalty: f32,
        #[pyo3(from_py_with = maybe_whole)] seed: Option<u64>,
        stop: Option<&Bound<'_, PyAny>>,
        fwd_hooks: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let sampling = Sampling { top_k, top_p, min_p, repetition_penalty, ..Sampling::default() };
        let stop = stop.map(texts).transpose()?.unwrap_or_default();
        let stops = Stops::new(stop.into_iter().map(String::into_bytes));
        let prompt = prompt.map(read).transpose()?;
        let ask = Ask { prompt, n, temperature, seed, sampling, stops };
        let text = self.hooked(py, fwd_hooks, |inner, stop, probe| {
            has_text(&*inner.plan.tokenizer)?;
            Ok(write(inner, ask, stop, probe)?.text)
        })?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Token numbers that the model writes, an array of `int64`: what `sample` returns as text.
    #[pyo3(signature = (prompt=None, n=None, *, temperature=None, top_k=0, top_p=1.0, min_p=0.0, repetition_penalty=1.0, seed=None, fwd_hooks=None))]
    fn generate<'py>(
        &self,
        py: Python<'py>,
        prompt: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = maybe_whole)] n: Option<usize>,
        temperature: Option<f32>,
        #[pyo3(from_py_with = whole)] top_k: usize,
        top_p: f32,
        min_p: f32,
        repetition_penalty: f32,
        #[pyo3(from_py_with = maybe_whole)] seed: Option<u64>,
        fwd_hooks: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let sampling = Sampling { top_k, top_p, min_p, repetition_penalty, ..Sampling::default() };
        let prompt = prompt.map(read).transpose()?;
        let ask = Ask { prompt, n, temperature, seed, sampling, stops: Stops::default() };
        let written =
            self.hooked(py, fwd_hooks, |inner, stop, probe| write(inner, ask, stop, probe))?;
        Ok(PyArray1::from_iter(py, written.choices.iter().map(|of| i64::from(of.token))))
    }

    /// The tokens of a text, an array of `int64`.
    fn encode<'py>(&self, py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let text = text.as_bytes().to_vec();
        let tokens =
            self.worker.work(py, move |inner, _| Ok(inner.plan.tokenizer.encode(&text)?))?;
        Ok(PyArray1::from_iter(py, tokens.into_iter().map(i64::from)))
    }

    /// The text of tokens. Bytes that are no UTF-8 become �.
    fn decode(&self, py: Python<'_>, tokens: &Bound<'_, PyAny>) -> PyResult<String> {
        let (numbers, _) = whole_numbers(tokens, "an array of token numbers")?;
        let tokens = as_tokens(numbers)?;
        let text = self.worker.now(py, |inner| {
            has_text(&*inner.plan.tokenizer).map_err(raised)?;
            inner.plan.tokenizer.decode(&tokens).map_err(raised)
        })?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// What each token stands for, a list of V texts.
    #[getter]
    fn vocabulary(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.worker.now(py, |inner| {
            let tokens = 0..inner.plan.trainer.model.config().vocab_size as TokenId;
            Ok(tokens.map(|token| piece(&*inner.plan.tokenizer, token)).collect())
        })
    }
}
