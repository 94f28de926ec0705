//! Answers of a model that has learned conversations.

use crate::arrays::{maybe_whole, whole};
use crate::conversations::asked;
use crate::trainer::Trainer;
use llm_core::base::memory;
use llm_core::generate::Sampling;
use llm_run::talk::Talk;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

#[pymethods]
impl Trainer {
    /// The answer to a question (a text), or to a conversation: a list of dicts with `role` and
    /// `content`, of which the last is the user's. It is written down as the model has learned
    /// conversations, and ends where an answer ends, or after `max_new_tokens`; `system` is what the
    /// model is told before. Where the context is full, the oldest turns are left out.
    ///
    /// `temperature`, `top_k`, `top_p` and `seed` as in `sample`.
    #[pyo3(signature = (messages, *, max_new_tokens=512, temperature=0.7, top_k=0, top_p=0.95, seed=None, system=None))]
    fn chat(
        &self,
        py: Python<'_>,
        messages: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = whole)] max_new_tokens: usize,
        temperature: f32,
        #[pyo3(from_py_with = whole)] top_k: usize,
        top_p: f32,
        #[pyo3(from_py_with = maybe_whole)] seed: Option<u64>,
        system: Option<String>,
    ) -> PyResult<String> {
        let asked = asked(messages)?;
        if max_new_tokens == 0 {
            return Err(PyValueError::new_err("max_new_tokens 0: an answer needs a token"));
        }
        self.worker.work(py, move |inner, stop| {
            let model = &inner.plan.trainer.model;
            let seed = seed.unwrap_or(inner.plan.trainer.recipe.seed);
            let sampling = Sampling { temperature, top_k, top_p, seed, ..Sampling::default() };
            memory::require(model.inference_memory(1, model.config().seq_len))?;
            let tokenizer = inner.plan.tokenizer.clone();
            let mut talk = Talk::new(model, tokenizer, system.as_deref(), sampling, None)?;
            talk.remember(asked.before);
            let answer = talk.ask(&asked.question, max_new_tokens, |_| !stop.is_set())?;
            Ok(String::from_utf8_lossy(&answer.written.text).into_owned())
        })
    }
}
