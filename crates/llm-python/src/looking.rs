//! What is inside, for one text.

use crate::arrays::{Numbers, array};
use crate::given::read;
use crate::trainer::Trainer;
use crate::writing::piece;
use llm_lens::{attention_maps, inside};
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
    /// and a dict of
    ///
    /// - `blocks.{i}.resid_pre`, `resid_mid`, `resid_post` `[T, C]`: the residual stream before the block,
    ///   between attention and MLP, behind it
    /// - `blocks.{i}.pattern` `[H, T, T]`: the weights of attention
    /// - `blocks.{i}.z` `[T, H·D]`: what the heads give, before their projection
    /// - `blocks.{i}.mlp_post` `[T, I]`: the MLP behind its activation
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
            put("resid_mid", whole(py, block.between)?)?;
            put("mlp_post", whole(py, block.hidden)?)?;
            put("resid_post", whole(py, block.behind)?)?;
        }
        Ok((whole(py, found.logits)?, cache))
    }
}

fn whole<D: Dimension>(py: Python<'_>, numbers: Array<f32, D>) -> PyResult<Numbers<'_>> {
    let shape = numbers.shape().to_vec();
    array(py, &shape, numbers.into_iter().collect())
}
