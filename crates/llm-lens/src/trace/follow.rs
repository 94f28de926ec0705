//! A layer run under watch, and what was seen put together.

use super::example::Example;
use super::layout::check;
use super::sizes::{Place, Sizes};
use super::walk::Walk;
use super::watch::Watch;
use llm_core::base::memory;
use llm_core::model::{Context, Parameters};
use llm_core::{Attention, Config, Error, Result, TinyGPT, TokenId, message, no_grad};
use std::sync::Arc;

/// The walk of a layer by itself: an attention with the weights of an [`example`](super::example()).
///
/// # Errors
/// [`Error::Config`] when there is no such place, or the attention has tensors of its own; what the
/// attention refuses.
pub fn trace_example(attention: Arc<dyn Attention>, example: &Example, at: Place) -> Result<Walk> {
    let sizes = example.x.dims("trace", "x of shape [B, T, C]")?;
    let sizes = Sizes::new(sizes, &attention.spec());
    at.check(&sizes)?;
    let config = Config::new(1, sizes.seq_len, sizes.d_model, 1);
    check(attention.as_ref(), &config)?;
    let watch = Watch::new(attention, 0, at);
    let Example { x, w_qkv, b_qkv, w_proj, b_proj } = example;
    let own = [("w_qkv", w_qkv), ("b_qkv", b_qkv), ("w_proj", w_proj), ("b_proj", b_proj)];
    let own = own.map(|(name, p)| (name.to_string(), p.clone()));
    let parameters = Parameters::new(own.into());
    no_grad(|| watch.forward(x, &parameters, &Context::new(0)))?;
    walk(&watch, sizes, at, &[])
}

/// The walk of one layer of a model that reads `tokens`, `batch_size` times the same sequence.
///
/// # Errors
/// [`Error::Config`] when there is no such layer or place, or the attention has tensors of its own;
/// [`Error::Memory`] when there is no room;
/// as [`TinyGPT::logits`].
pub fn trace_model(
    model: &TinyGPT,
    layer: usize,
    tokens: &[TokenId],
    batch_size: usize,
    place: Place,
) -> Result<Walk> {
    let (config, spec, t) = (model.config(), model.attention().spec(), tokens.len());
    if layer >= config.n_layers {
        let why = message!("{} of {}, counted from 0", layer, config.n_layers);
        return Err(Error::config("layer", why));
    }
    let sizes = Sizes::new([batch_size, t, config.d_model], &spec);
    place.check(&sizes)?;
    check(model.attention().as_ref(), config)?;
    // The layer that is watched writes its weights and scores out, for one head at a time.
    let tables = 8 * t as u64 * t as u64;
    memory::require(model.inference_memory(batch_size, t).saturating_add(tables))?;
    // The same model, sharing its weights, with the watch in place of its attention.
    let watch = Arc::new(Watch::new(model.attention().clone(), layer, place));
    let watched = model.attending_with(watch.clone())?;
    no_grad(|| watched.logits(&tokens.repeat(batch_size), [batch_size, t]))?;
    Ok(Walk { layer: Some(layer), ..walk(&watch, sizes, place, spec.used(layer))? })
}

fn walk(watch: &Watch, sizes: Sizes, place: Place, keep: &[bool]) -> Result<Walk> {
    let seen = watch.seen();
    let seen = seen.ok_or_else(|| Error::config("layer", message!("it was not reached")))?;
    no_grad(|| Walk::new(&seen, sizes, place, keep))
}
