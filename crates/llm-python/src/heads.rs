//! What its heads do, and which can go.

use crate::arrays::{maybe_whole, whole};
use crate::given::given;
use crate::measuring::judged_on;
use crate::trainer::Trainer;
use llm_core::{AttentionSpec, TinyGPT, message};
use llm_lens::{Column, Cut, Pruner, Score, Scored, head_mask, measure_heads, with_head_mask};
use llm_run::RunError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Longest windows that roles are measured on: places are marked for every pair of tokens.
const LONGEST: usize = 1024;

#[pymethods]
impl Trainer {
    /// What every head does, measured on the run's unseen text or on `data`: a list of dicts of `layer`,
    /// `head`, `role` (such as `previous`, `after`, `answer`; `None` where nothing stands out), `off`, and
    /// `scores`, the mean weight that it puts on places of each kind; with `even`, what attention that is
    /// spread evenly would have there.
    #[pyo3(signature = (data=None, *, tokens=16384))]
    fn head_roles<'py>(
        &self,
        py: Python<'py>,
        data: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = whole)] tokens: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let data = data.map(given).transpose()?;
        let report = self.worker.work(py, move |inner, stop| {
            let val = judged_on(inner, data)?;
            let pieces = val.pieces(tokens, LONGEST);
            let (model, tokenizer) = (&inner.plan.trainer.model, &*inner.plan.tokenizer);
            measure_heads(model, tokenizer, pieces, || stop.is_set())
        })?;
        let named = |columns: &[(Column, f64)]| -> PyResult<Bound<'py, PyDict>> {
            let all = PyDict::new(py);
            columns.iter().try_for_each(|(column, value)| all.set_item(column.name(), value))?;
            Ok(all)
        };
        let all = PyList::empty(py);
        for row in &report.rows {
            let one = PyDict::new(py);
            one.set_item("layer", row.layer)?;
            one.set_item("head", row.head)?;
            one.set_item("role", row.role.map(|role| role.name()))?;
            one.set_item("off", row.is_off)?;
            one.set_item("scores", named(&row.scores)?)?;
            one.set_item("even", named(&report.uniform)?)?;
            all.append(one)?;
        }
        Ok(all)
    }

    /// What is lost without heads, measured on the run's unseen text or on `data`: a dict of `loss` with
    /// all, `alone`, the loss without each one, and `greedy`, heads switched off one after the other, the
    /// least missed first (at most `most`; all by default). Heads are pairs (layer, head).
    #[pyo3(signature = (data=None, *, most=None, tokens=65536))]
    fn prune_heads<'py>(
        &self,
        py: Python<'py>,
        data: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = maybe_whole)] most: Option<usize>,
        #[pyo3(from_py_with = whole)] tokens: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let data = data.map(given).transpose()?;
        let report = self.worker.work(py, move |inner, stop| {
            let val = judged_on(inner, data)?;
            let (model, models) = (&inner.plan.trainer.model, inner.models);
            let batch = inner.plan.trainer.recipe.batch_size;
            let score = |model: &TinyGPT| -> Result<Score, RunError> {
                let report = val.score(model, batch, tokens, |_| stop.is_set())?;
                match stop.is_set() {
                    true => Err(RunError::Usage(message!("stopped"))), // nobody waits for it
                    false => Ok(Score { loss: report.evaluation.loss, details: () }),
                }
            };
            let from_spec = |spec: &AttentionSpec| models.from_spec(spec);
            let mut pruner = Pruner::new(model, &from_spec, score);
            let whole = pruner.score(&head_mask(model))?;
            pruner.find(whole, &Cut::LeastMissed(most), |_| ())
        })?;
        let pairs = |all: &[Scored]| -> Vec<((usize, usize), f64)> {
            all.iter().map(|of| ((of.head.layer, of.head.head), of.score.loss)).collect()
        };
        let all = PyDict::new(py);
        all.set_item("loss", report.whole.loss)?;
        all.set_item("alone", pairs(&report.alone))?;
        all.set_item("greedy", pairs(&report.greedy))?;
        Ok(all)
    }

    /// A copy with these heads, pairs (layer, head), switched off.
    fn without_heads(&self, py: Python<'_>, heads: Vec<(i64, i64)>) -> PyResult<Trainer> {
        let inner = self.worker.work(py, move |inner, _| {
            let model = &inner.plan.trainer.model;
            let (layers, n_heads) = (model.config().n_layers, model.attention().spec().n_heads);
            let mut mask = head_mask(model);
            for (layer, head) in heads {
                let within = |i: i64, n: usize| usize::try_from(i).ok().filter(|i| *i < n);
                let (Some(at), Some(of)) = (within(layer, layers), within(head, n_heads)) else {
                    return Err(RunError::Usage(message!(
                        "{heads}: there is no head ({}, {}): layers are 0 to {}, heads 0 to {}",
                        layer,
                        head,
                        layers - 1,
                        n_heads - 1
                    )));
                };
                mask[at * n_heads + of] = false;
            }
            let model = with_head_mask(model, &mask, &|spec| inner.models.from_spec(spec))?;
            let mut copy = inner.copied();
            copy.plan.trainer.model = model;
            Ok(copy)
        })?;
        Trainer::of(inner, Some(self.worker.threads))
    }
}
