//! What is inside, for one text.

use crate::arrays::{Numbers, array, copy};
use crate::given::read;
use crate::trainer::Trainer;
use crate::writing::piece;
use llm_core::base::memory;
use llm_core::model::Probe;
use llm_core::no_grad;
use llm_lens::{SaidThere, attention_maps, inside, logit_lens};
use numpy::ndarray::{Array, Dimension};
use pyo3::prelude::*;
use pyo3::types::PyDict;

#[pymethods]
impl Trainer {
    /// The attention weights of the model on a text (or tokens `[T]`): the tokens' texts, and an array
    /// `[L, H, T, T]` whose rows are queries and add up to 1.
    fn attention<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
    ) -> PyResult<(Vec<String>, Numbers<'py>)> {
        let data = read(data)?;
        let (pieces, shape, numbers) = self.worker.work(py, move |inner, _| {
            let tokens = data.row(&*inner.plan.tokenizer)?;
            let maps = attention_maps(&inner.plan.trainer.model, &tokens, tokens.len())?;
            let pieces: Vec<_> =
                tokens.iter().map(|&token| piece(&*inner.plan.tokenizer, token)).collect();
            let heads = maps.layers.first().map_or(0, Vec::len);
            let shape = [maps.layers.len(), heads, tokens.len(), tokens.len()];
            let numbers: Vec<f32> = maps.layers.into_iter().flatten().flatten().flatten().collect();
            Ok((pieces, shape, numbers))
        })?;
        Ok((pieces, array(py, &shape, numbers)?))
    }

    /// Everything that the model computes while it reads a text (or tokens `[T]`): its logits `[T, V]`
    /// and a dict of what each block computes, in this order:
    ///
    /// - `blocks.{i}.resid_pre` `[T, C]`: the residual stream before the block
    /// - `blocks.{i}.pattern` `[H, T, T]`: the weights of attention
    /// - `blocks.{i}.z` `[T, H·D]`: what the heads give, side by side, before their projection
    /// - `blocks.{i}.attn_out` `[T, C]`: what the attention adds to the stream
    /// - `blocks.{i}.resid_mid` `[T, C]`: the stream between attention and MLP
    /// - `blocks.{i}.mlp_post` `[T, I]`: the MLP behind its activation
    /// - `blocks.{i}.mlp_out` `[T, C]`: what the MLP adds to the stream
    /// - `blocks.{i}.resid_post` `[T, C]`: the stream behind the block
    fn run_with_cache<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
    ) -> PyResult<(Numbers<'py>, Bound<'py, PyDict>)> {
        let data = read(data)?;
        let found = self.worker.work(py, move |inner, _| {
            let tokens = data.row(&*inner.plan.tokenizer)?;
            Ok(inside(&inner.plan.trainer.model, &tokens)?)
        })?;
        let cache = PyDict::new(py);
        for (i, block) in found.blocks.into_iter().enumerate() {
            let put = |name: &str, numbers: Numbers<'py>| {
                cache.set_item(format!("blocks.{i}.{name}"), numbers)
            };
            put("resid_pre", whole(py, block.before)?)?;
            put("pattern", whole(py, block.weights)?)?;
            put("z", whole(py, block.heads)?)?;
            put("attn_out", whole(py, block.attention)?)?;
            put("resid_mid", whole(py, block.between)?)?;
            put("mlp_post", whole(py, block.hidden)?)?;
            put("mlp_out", whole(py, block.mlp)?)?;
            put("resid_post", whole(py, block.behind)?)?;
        }
        Ok((whole(py, found.logits)?, cache))
    }

    /// The logits `[T, V]` of a text (or tokens `[T]`) with other numbers inside: `fwd_hooks` is a list of
    /// pairs (name, function). A name is one of those of `run_with_cache`, but for `pattern`.
    /// `function(value, name)` gets a copy of what stands there, `[T, N]`, and returns what is to stand in its
    /// place, an array of the same shape, or `None`, which leaves it. Functions at the same place are called
    /// in their order, each with what the one before returned; they may use the trainer.
    fn run_with_hooks<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        fwd_hooks: &Bound<'py, PyAny>,
    ) -> PyResult<Numbers<'py>> {
        let data = read(data)?;
        let (shape, logits) = self.hooked(py, Some(fwd_hooks), move |inner, _, probe| {
            let tokens = data.row(&*inner.plan.tokenizer)?;
            let model = &inner.plan.trainer.model;
            memory::require(model.inference_memory(1, tokens.len()))?;
            let probe = probe.map(|probe| probe as &dyn Probe);
            let logits = no_grad(|| model.forward(&tokens, [1, tokens.len()], probe))?;
            Ok(([tokens.len(), model.config().vocab_size], logits))
        })?;
        copy(py, &shape, logits.data())
    }

    /// What the model would say at each token of a text (or tokens `[T]`) if it ended before the first block,
    /// and behind each of L: the stream there goes through the final norm and the output head. A dict of
    /// `first`, the first choices `[L+1, T]`; `p`, their probabilities; `p_next`, the probability of the token
    /// that does come next, NaN at the end.
    fn logit_lens<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let data = read(data)?;
        let said = self.worker.work(py, move |inner, _| {
            let tokens = data.row(&*inner.plan.tokenizer)?;
            Ok(logit_lens(&inner.plan.trainer.model, &tokens)?)
        })?;
        let shape = [said.len(), said.first().map_or(0, Vec::len)];
        let numbers = |of: fn(&SaidThere) -> f64| said.iter().flatten().map(of).collect::<Vec<_>>();
        let first = said.iter().flatten().map(|there| i64::from(there.token)).collect::<Vec<_>>();
        let all = PyDict::new(py);
        all.set_item("first", array(py, &shape, first)?)?;
        all.set_item("p", array(py, &shape, numbers(|there| there.p))?)?;
        let next = numbers(|there| there.next.unwrap_or(f64::NAN));
        all.set_item("p_next", array(py, &shape, next)?)?;
        Ok(all)
    }
}

fn whole<D: Dimension>(py: Python<'_>, numbers: Array<f32, D>) -> PyResult<Numbers<'_>> {
    let shape = numbers.shape().to_vec();
    array(py, &shape, numbers.into_iter().collect())
}
