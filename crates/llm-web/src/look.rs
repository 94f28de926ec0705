//! What a model writes, where its heads look, and what they do.

use crate::failure::{Code, Failure, Result};
use crate::request::{Attention, Roles, Write};
use crate::run::Run;
use llm_core::base::memory;
use llm_core::generate::{Generator, Sampling, Stops};
use llm_core::tokenizer::Tokenizer;
use llm_core::{TinyGPT, TokenId, message};
use llm_lens::{Column, HeadsReport, attention_maps, measure_heads};
use llm_run::data::Beginning;
use llm_run::defaults::TextDefaults;
use serde_json::{Map, Value, json};

/// Most tokens that one request writes: a call cannot be ended from outside.
const MOST_WRITTEN: usize = 16_384;
/// Longest windows that roles are measured on: places are marked for every pair of tokens.
const LONGEST: usize = 1024;
/// Tokens that roles are measured on when nothing is said.
const LOOKED_AT: usize = 16_384;

/// Writes on from a prompt.
///
/// # Errors
/// [`Code::Text`] for a prompt that the model cannot read, [`Code::Setting`] for numbers outside
/// their ranges, [`Code::Memory`].
pub fn write(run: &Run, ask: &Write) -> Result<Value> {
    let tokenizer = run.tokenizer.as_ref();
    let prompt = match &ask.prompt {
        Some(prompt) => tokens_of(tokenizer, prompt)?,
        None => Beginning::of(&run.trainer.recipe.data, tokenizer)?.tokens,
    };
    let usual = TextDefaults::choose(None);
    let tokens = ask.tokens.unwrap_or(usual.n);
    if tokens > MOST_WRITTEN {
        let why = message!("tokens: {} is outside 0..={}", tokens, MOST_WRITTEN);
        return Err(Failure::new(Code::Setting, why));
    }
    let model = &run.trainer.model;
    memory::require(model.inference_memory(1, model.config().seq_len))?;
    let seed = ask.seed.unwrap_or(run.trainer.recipe.seed);
    let temperature = ask.temperature.unwrap_or(usual.temperature);
    let sampling = Sampling { temperature, top_k: ask.top_k, seed, ..Sampling::default() };
    let mut generator = Generator::new(model, &prompt, sampling, 1)?;
    generator.write(tokenizer, tokens, &Stops::default(), |_, _| Ok::<_, Failure>(true))?;
    let written = generator.written();
    Ok(json!({
        "prompt": text_of(tokenizer, &prompt),
        "text": text_of(tokenizer, written),
        "tokens": written,
    }))
}

/// P of every layer and head for a text, the last tokens of it that the model can read: the answer
/// and `[L, H, T, T]` as f32, little-endian.
///
/// # Errors
/// [`Code::Text`] for a text that the model cannot read, [`Code::Memory`].
pub fn attention(run: &Run, ask: &Attention) -> Result<(Value, Vec<u8>)> {
    let (model, tokenizer) = (run.model(ask.moment)?, run.tokenizer.as_ref());
    let all = tokens_of(tokenizer, &ask.text)?;
    let from = all.len().saturating_sub(model.config().seq_len);
    let tokens = &all[from..];
    let heads = model.attention().spec().n_heads;
    let t = tokens.len();
    let maps = (model.config().n_layers as u64) * heads as u64 * (t as u64).pow(2);
    memory::require(model.inference_memory(1, t).saturating_add(maps.saturating_mul(12)))?;
    let maps = attention_maps(model, tokens, t)?;
    let numbers = maps.layers.iter().flatten().flatten().flatten();
    let blob = numbers.flat_map(|p| p.to_le_bytes()).collect();
    let answer = json!({
        "tokens": tokens.iter().map(|&token| piece(tokenizer, token)).collect::<Vec<_>>(),
        "from": from,
        "layers": model.config().n_layers,
        "heads": heads,
        "t": t,
    });
    Ok((answer, blob))
}

/// What every head does, measured on unseen text as `inspect heads` does.
///
/// # Errors
/// [`Code::Data`] without data, [`Code::Memory`].
pub fn roles(run: &Run, ask: &Roles) -> Result<Value> {
    let model = run.model(ask.moment)?;
    let Some(data) = &run.data else {
        let why = message!(
            "this run's text is not here: heads are measured on the part that it has not learned"
        );
        return Err(Failure::new(Code::Data, why));
    };
    let t = model.config().seq_len.min(LONGEST);
    memory::require(model.inference_memory(1, t).saturating_add(10 * (t as u64).pow(2)))?;
    let pieces =
        data.val.iter().flat_map(|val| val.pieces(ask.tokens.unwrap_or(LOOKED_AT), LONGEST));
    let report = measure_heads(model, run.tokenizer.as_ref(), pieces, || false)?;
    Ok(shown(&report, model))
}

fn shown(report: &HeadsReport, model: &TinyGPT) -> Value {
    let object = |columns: &[(Column, f64)]| {
        let entries = columns.iter().map(|(column, value)| (column.name().into(), json!(value)));
        Value::Object(entries.collect::<Map<_, _>>())
    };
    let heads = report.rows.iter().map(|row| {
        let evidence = report.evidence(row);
        json!({
            "layer": row.layer,
            "head": row.head,
            "off": row.is_off,
            "role": row.role.map(|role| role.name()),
            "share": evidence.map(|(share, _)| share),
            "even": evidence.map(|(_, even)| even),
            "columns": object(&row.scores),
        })
    });
    json!({
        "heads": heads.collect::<Vec<_>>(),
        "even": object(&report.uniform),
        "windows": report.windows,
        "tokens": report.tokens,
        "layers": model.config().n_layers,
    })
}

/// The tokens of a text that has some.
///
/// # Errors
/// [`Code::Text`] for one that is empty or that the model cannot read.
pub fn tokens_of(tokenizer: &dyn Tokenizer, text: &str) -> Result<Vec<TokenId>> {
    let tokens = tokenizer.encode(text.as_bytes())?;
    let empty = || message!("the text is empty; it needs one token or more");
    if tokens.is_empty() { Err(Failure::new(Code::Text, empty())) } else { Ok(tokens) }
}

/// Tokens as text. What is no UTF-8 becomes the sign for that.
fn text_of(tokenizer: &dyn Tokenizer, tokens: &[TokenId]) -> String {
    let bytes: Vec<u8> = tokens.iter().flat_map(|&t| tokenizer.bytes_of(t)).copied().collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A token as text, a part of a character by its bytes.
pub fn piece(tokenizer: &dyn Tokenizer, token: TokenId) -> String {
    let bytes = tokenizer.bytes_of(token);
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => bytes.escape_ascii().to_string(),
    }
}
