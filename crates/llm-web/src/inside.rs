//! What a model expects next, which of its letters are alike, and what its MLPs ask.

use crate::failure::Result;
use crate::look::{piece, tokens_of};
use crate::request::{Embedding, Hidden, Next};
use crate::run::Run;
use llm_core::base::memory;
use llm_core::generate::{Decoder, Sampling};
use llm_core::tokenizer::Tokenizer;
use llm_core::{TinyGPT, TokenId};
use llm_lens::{Embeddings, hidden_units};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Tokens of the training text in which the usual ones are counted, and most of them on a map.
const COUNTED: usize = 65_536;
const MOST_SHOWN: usize = 96;
/// Entries of a list.
const LISTED: usize = 8;

/// What may follow a text: the likeliest tokens, and the share of the first token of each choice.
///
/// # Errors
/// [`Code::Text`](crate::Code::Text) for a text that the model cannot read,
/// [`Code::Memory`](crate::Code::Memory).
pub fn next(run: &Run, ask: &Next) -> Result<Value> {
    let (model, tokenizer) = (run.model(ask.moment)?, run.tokenizer.as_ref());
    let tokens = read(model, tokenizer, &ask.text)?.1;
    let mut decoder = Decoder::new(model)?;
    let shares = Sampling::default().distribution(decoder.feed(&tokens)?, &[])?;
    let shown = |token: TokenId| {
        let share = shares.iter().find(|of| of.0 == token).map_or(0.0, |of| of.1);
        json!({ "token": token, "piece": piece(tokenizer, token), "share": share })
    };
    let first = |choice: &String| Ok(shown(tokens_of(tokenizer, choice)?[0]));
    Ok(json!({
        "pieces": model.config().vocab_size,
        "likeliest": shares.iter().take(LISTED).map(|of| shown(of.0)).collect::<Vec<_>>(),
        "choices": ask.choices.iter().map(first).collect::<Result<Vec<_>>>()?,
    }))
}

/// The rows of the tokens that the training text has most, flat; those of the given text where there
/// is no other. And the nearest to one of them.
///
/// # Errors
/// [`Code::Text`](crate::Code::Text) where there is neither text.
pub fn embedding(run: &Run, ask: &Embedding) -> Result<Value> {
    let (model, tokenizer) = (run.model(ask.moment)?, run.tokenizer.as_ref());
    let text = match &run.data {
        Some(data) => data.train.tokens(0, data.train.len().min(COUNTED))?,
        None => tokens_of(tokenizer, &ask.text)?,
    };
    let embeddings = Embeddings::new(model, usual(&text))?;
    let tokens = embeddings.tokens();
    let chosen = ask.token.and_then(|token| tokens.iter().position(|&of| of == token));
    let chosen = chosen.unwrap_or_default();
    let map = embeddings.flat_map();
    let points = tokens.iter().zip(&map.points);
    let points = points
        .map(|(&token, at)| json!({ "token": token, "piece": piece(tokenizer, token), "at": at }));
    let nearest = embeddings.nearest(chosen, LISTED).into_iter();
    let nearest = nearest.map(|(token, cosine)| json!({ "token": token, "piece": piece(tokenizer, token), "cosine": cosine }));
    Ok(json!({
        "width": model.config().d_model,
        "tokens": points.collect::<Vec<_>>(),
        "shares": map.shares,
        "token": tokens.get(chosen),
        "nearest": nearest.collect::<Vec<_>>(),
    }))
}

/// The units of one MLP that fire most at a token of a text, and what one of them gives at every
/// token: the strongest unless another is asked for. Numbers that are too large mean the last.
///
/// # Errors
/// [`Code::Text`](crate::Code::Text) for a text that the model cannot read,
/// [`Code::Memory`](crate::Code::Memory).
pub fn hidden(run: &Run, ask: &Hidden) -> Result<Value> {
    let (model, tokenizer) = (run.model(ask.moment)?, run.tokenizer.as_ref());
    let (from, tokens) = read(model, tokenizer, &ask.text)?;
    let config = model.config();
    let one = |asked: Option<usize>, n: usize| asked.unwrap_or(n).min(n.saturating_sub(1));
    let (layer, token) = (one(ask.layer, config.n_layers), one(ask.token, tokens.len()));
    let units = hidden_units(model, &tokens)?;
    let strongest = units.strongest(layer, token, LISTED);
    let first = strongest.first().map(|of| of.0);
    let unit = one(ask.unit.or(first), config.inner());
    let listed = strongest.iter().map(|(unit, value)| json!({ "unit": unit, "value": value }));
    Ok(json!({
        "tokens": tokens.iter().map(|&token| piece(tokenizer, token)).collect::<Vec<_>>(),
        "from": from,
        "layers": config.n_layers,
        "units": config.inner(),
        "layer": layer,
        "token": token,
        "strongest": listed.collect::<Vec<_>>(),
        "unit": unit,
        "values": units.of_unit(layer, unit),
    }))
}

/// The tokens of a text that the model can read, its last ones, and how many were before.
///
/// # Errors
/// [`Code::Text`](crate::Code::Text) for a text that is empty or cannot be read,
/// [`Code::Memory`](crate::Code::Memory).
pub fn read(
    model: &TinyGPT,
    tokenizer: &dyn Tokenizer,
    text: &str,
) -> Result<(usize, Vec<TokenId>)> {
    let mut tokens = tokens_of(tokenizer, text)?;
    let from = tokens.len().saturating_sub(model.config().seq_len);
    memory::require(model.inference_memory(1, tokens.len() - from))?;
    Ok((from, tokens.split_off(from)))
}

/// The tokens that a text has most often, most often first.
fn usual(text: &[TokenId]) -> Vec<TokenId> {
    let mut counts: BTreeMap<TokenId, usize> = BTreeMap::new();
    text.iter().for_each(|&token| *counts.entry(token).or_default() += 1);
    let mut all: Vec<_> = counts.into_iter().collect();
    all.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    all.into_iter().take(MOST_SHOWN).map(|(token, _)| token).collect()
}
