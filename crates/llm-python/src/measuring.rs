//! The loss on unseen text, and the gradients of a batch.

use crate::arrays::{Numbers, array, copy, maybe_whole};
use crate::given::{Given, Read, given, read, read_targets};
use crate::state::Inner;
use crate::trainer::Trainer;
use llm_core::model::{Batch, Mode};
use llm_core::{TokenId, message};
use llm_run::data::{Cut, Data, Reading, Report, Validation};
use llm_run::options::Options;
use llm_run::{Result, RunError};
use numpy::{PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// What is measured on: the text that is given, or the run's own unseen one.
///
/// # Errors
/// What reading or cutting it refuses.
pub fn judged_on(inner: &mut Inner, data: Option<Given>) -> Result<Validation> {
    let Some(data) = data else { return Ok(inner.unseen()?.clone()) };
    let recipe = &inner.plan.trainer.recipe;
    let mut options = Options::default();
    data.into_training_data(&mut options);
    let reading = Reading::for_model(&*inner.plan.tokenizer, &recipe.data, options.data_as);
    let input = options.files(&options.data, reading)?;
    let cut = Cut { seq_len: inner.plan.trainer.model.config().seq_len, loss_on: recipe.loss_on };
    Data::whole(input, cut, &inner.plan.tokenizer)
}

/// Token numbers `[B, T]`.
type Tokens<'py> = Bound<'py, PyArrayDyn<i64>>;

#[pymethods]
impl Trainer {
    /// How well the model predicts text that it has not learned: its own unseen part, or `data`, all of
    /// it or about `tokens` tokens in evenly spaced windows, one at least.
    ///
    /// Returns a dict of `loss` (nats per token), `perplexity`, `accuracy` (of the first choice),
    /// `scored` (tokens), `bits_per_byte` where tokens are text, and on the built-in stories `facts`, the
    /// share of right answers of each kind.
    #[pyo3(signature = (data=None, *, tokens=None))]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        data: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = maybe_whole)] tokens: Option<usize>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let data = data.map(given).transpose()?;
        let report = self.worker.work(py, move |inner, stop| {
            let val = judged_on(inner, data)?;
            let (model, batch) = (&inner.plan.trainer.model, inner.plan.trainer.recipe.batch_size);
            val.score(model, batch, tokens.unwrap_or(usize::MAX), |_| stop.is_set())
        })?;
        described(py, &report)
    }

    /// Loss and gradients of a batch, without dropout. `inputs` are tokens `[T]` or `[B, T]` (or a text),
    /// `targets` of the same shape (-1, or -100, where nothing is learned); without them the last token of
    /// each row is a target alone.
    ///
    /// Returns the mean loss in nats, and for each weight's name its gradient, of the weight's shape.
    #[pyo3(signature = (inputs, targets=None))]
    fn loss_and_gradients<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyAny>,
        targets: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(f32, Bound<'py, PyDict>)> {
        let (inputs, targets) = (read(inputs)?, targets.map(read_targets).transpose()?);
        let (loss, found) = self.worker.work(py, move |inner, _| {
            let batch = batch(inner, inputs, targets)?;
            let model = &inner.plan.trainer.model;
            let loss = model.loss(&batch, Mode::Evaluation)?;
            let value = loss.item();
            let gradients = loss.backward()?;
            let of = |(name, weight): (String, &llm_core::Tensor)| {
                let zeros = || vec![0.0; weight.numel()];
                let found = gradients.get(weight).map_or_else(zeros, <[f32]>::to_vec);
                (name, weight.shape().to_vec(), found)
            };
            Ok((value, model.parameters().map(of).collect::<Vec<_>>()))
        })?;
        let all = PyDict::new(py);
        for (name, shape, numbers) in found {
            all.set_item(name, array(py, &shape, numbers)?)?;
        }
        Ok((loss, all))
    }

    /// The batch of a step of this run, `[B, T]` inputs and targets (-1 where nothing is learned), of its
    /// first micro-batch: by default that of the next step. It is a function of seed and step alone.
    #[pyo3(signature = (step=None))]
    fn batch<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = maybe_whole)] step: Option<u64>,
    ) -> PyResult<(Tokens<'py>, Tokens<'py>)> {
        let batch = self.worker.work(py, move |inner, _| {
            let data = inner.data()?.train.clone();
            let recipe = &inner.plan.trainer.recipe;
            let step = step.unwrap_or(inner.plan.trainer.step);
            Ok(recipe.batch(&data, step, 0)?)
        })?;
        let of = |tokens: &[TokenId]| {
            let wide = |&of: &TokenId| if of == Batch::IGNORED { -1 } else { i64::from(of) };
            let tokens = numpy::PyArray1::from_iter(py, tokens.iter().map(wide));
            tokens.reshape(batch.shape.to_vec())
        };
        Ok((of(&batch.inputs)?, of(&batch.targets)?))
    }

    /// Scores of every next token, before softmax: `[T, V]` of a text or of tokens `[T]`, `[B, T, V]` of
    /// tokens `[B, T]`.
    fn logits<'py>(&self, py: Python<'py>, data: &Bound<'py, PyAny>) -> PyResult<Numbers<'py>> {
        let data = read(data)?;
        let (shape, logits) = self.worker.work(py, move |inner, _| {
            let (tokens, mut shape) = data.tokens(&*inner.plan.tokenizer)?;
            let [b, t] = rows(&shape);
            let model = &inner.plan.trainer.model;
            llm_core::base::memory::require(model.inference_memory(b, t))?;
            let logits = llm_core::no_grad(|| model.logits(&tokens, [b, t]))?;
            shape.push(model.config().vocab_size);
            Ok((shape, logits))
        })?;
        copy(py, &shape, logits.data())
    }
}

fn described<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("loss", report.evaluation.loss)?;
    all.set_item("perplexity", report.evaluation.perplexity())?;
    all.set_item("accuracy", report.evaluation.accuracy)?;
    all.set_item("scored", report.evaluation.tokens)?;
    if let Some(bits) = report.bits_per_byte() {
        all.set_item("bits_per_byte", bits)?;
    }
    if let Some(facts) = &report.facts {
        let kinds = PyDict::new(py);
        for (kind, of) in &facts.kinds {
            kinds.set_item(kind.name(), of.share())?;
        }
        all.set_item("facts", kinds)?;
        all.set_item("facts_accuracy", facts.total().share())?;
    }
    Ok(all)
}

/// B and T.
fn rows(shape: &[usize]) -> [usize; 2] {
    match *shape {
        [b, t] => [b, t],
        _ => [1, shape.first().copied().unwrap_or_default()],
    }
}

fn batch(inner: &Inner, inputs: Read, targets: Option<Read>) -> Result<Batch> {
    let tokenizer = &*inner.plan.tokenizer;
    let (tokens, shape) = inputs.tokens(tokenizer)?;
    let [b, t] = rows(&shape);
    let Some(targets) = targets else {
        if t < 2 {
            let why = message!("expected two tokens or more in a row, an input and its target");
            return Err(RunError::Data(why));
        }
        let part = |from: usize| -> Vec<TokenId> {
            tokens.chunks_exact(t).flat_map(|row| &row[from..from + t - 1]).copied().collect()
        };
        return Ok(Batch::new(part(0), part(1), [b, t - 1]));
    };
    let (targets, of) = targets.tokens(tokenizer)?;
    if of != shape {
        let [of, shape] = [of, shape].map(|of| format!("{of:?}"));
        let why = message!("targets of shape {} for inputs of shape {}", of, shape);
        return Err(RunError::Data(why));
    }
    Ok(Batch::new(tokens, targets, [b, t]))
}
