//! Reading a folder.

use super::config::{self, ConfigJson};
use super::{CONFIG, names, tokenizer, weights};
use crate::error::{FormatError, Result};
use crate::files::read_small;
use crate::imported::{FromSpec, Imported, Note, check, fine_tuning, heads, parameter};
use crate::safetensors::{Contents, Values, Wanted};
use llm_core::model::parameter_shapes;
use llm_core::tokenizer::{IdsTokenizer, PaddedTokenizer, Tokenizer};
use llm_core::{Attention, Config, Tensor};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Reads a model from a folder.
///
/// # Errors
/// [`FormatError::File`] naming the file that does not fit.
pub fn import(folder: &Path, from_spec: &FromSpec<'_>) -> Result<Imported> {
    if !folder.is_dir() {
        let advice = match folder.exists() {
            true => "it is not a folder; name the folder that holds config.json",
            false => "no such folder; hub names are not looked up, download the model first",
        };
        return Err(FormatError::Missing { advice }.at(folder));
    }
    let path = folder.join(CONFIG);
    let text = read_small(&path, config::MAX_LENGTH).map_err(|e| e.at(&path))?;
    let (settings, attention) = checked(&text, from_spec).map_err(|e| e.at(&path))?;
    let tokenizer = tokenizer::import(folder, settings.config.vocab_size)?;
    let (path, contents) = weights::open_all(folder)?;
    let parameters = parameters(&settings.config, contents).map_err(|e| e.at(&path))?;
    assemble(settings, attention, parameters, tokenizer).map_err(|e| e.at(folder))
}

/// The same from memory: config.json and model.safetensors, without a tokenizer.
///
/// # Errors
/// [`FormatError`] on whatever does not fit.
pub fn from_parts(config: &[u8], weights: &[u8], from_spec: &FromSpec<'_>) -> Result<Imported> {
    let (settings, attention) = checked(config, from_spec)?;
    let contents = Contents::open(weights, weights.len() as u64)?;
    let parameters = parameters(&settings.config, contents)?;
    assemble(settings, attention, parameters, None)
}

/// config.json, with everything refused that follows from it alone.
fn checked(text: &[u8], from_spec: &FromSpec<'_>) -> Result<(ConfigJson, Arc<dyn Attention>)> {
    let settings = config::parse(text)?;
    let attention = heads(settings.n_heads, from_spec)?;
    check(&settings.config, attention.as_ref())?;
    Ok((settings, attention))
}

/// The weights under our names.
fn parameters(config: &Config, contents: Contents<impl Read>) -> Result<Vec<(String, Tensor)>> {
    let first = format!("{}{}", names::PREFIX, "wte.weight");
    let prefix = if contents.row(&first).is_some() { names::PREFIX } else { "" };
    let shapes = parameter_shapes(config);
    let mut wanted = Vec::with_capacity(shapes.len() + 1);
    for (ours, shape) in &shapes {
        let name = names::theirs(ours, prefix)
            .ok_or_else(|| FormatError::content(format!("GPT-2 has no {ours}")))?;
        let turned = ours == "w_lm";
        let shape = if turned { shape.iter().rev().copied().collect() } else { shape.clone() };
        wanted.push(Wanted::parameter(name, shape));
    }
    // Some files hold the tied head a second time.
    let again = config.tied_head && contents.row(names::HEAD).is_some();
    if again {
        let shape = vec![config.vocab_size, config.d_model];
        wanted.push(Wanted::parameter(names::HEAD.into(), shape));
    }
    let (mut parameters, mut head) = (Vec::with_capacity(shapes.len()), None);
    let mask = |name: &str| names::is_mask(name, prefix, config.n_layers);
    contents.read(&wanted, mask, |i, values| {
        let Values::Floats(values) = values else { return Ok(()) };
        match shapes.get(i) {
            Some((ours, shape)) if ours == "w_lm" => {
                let values = transposed(&values, config.d_model);
                parameters.push((ours.clone(), parameter(shape, values)?));
            }
            Some((ours, shape)) => parameters.push((ours.clone(), parameter(shape, values)?)),
            None => head = Some(values),
        }
        Ok(())
    })?;
    if let Some(head) = head
        && !parameters.iter().any(|(name, p)| name == "wte" && p.data() == head)
    {
        return Err(FormatError::content(format!(
            "{} differs from {prefix}wte.weight, but config.json ties them; set \
             tie_word_embeddings to false there if the head is its own",
            names::HEAD
        )));
    }
    Ok(parameters)
}

/// `[V, C]` as `[C, V]`.
fn transposed(values: &[f32], columns: usize) -> Vec<f32> {
    let mut out = Vec::with_capacity(values.len());
    for column in 0..columns {
        out.extend(values.iter().skip(column).step_by(columns));
    }
    out
}

fn assemble(
    settings: ConfigJson,
    attention: Arc<dyn Attention>,
    parameters: Vec<(String, Tensor)>,
    tokenizer: Option<Arc<dyn Tokenizer>>,
) -> Result<Imported> {
    let ConfigJson { config, n_heads: _, mut notes } = settings;
    let tokenizer: Arc<dyn Tokenizer> = match tokenizer {
        Some(tokenizer) => {
            let (tokens, rows) = (tokenizer.vocab_size(), config.vocab_size);
            if tokens < rows {
                notes.push(Note::FewerTokens { tokens, rows });
            }
            PaddedTokenizer::pad(tokenizer, rows)
        }
        None => {
            notes.push(Note::NoTokenizer);
            Arc::new(IdsTokenizer::new(config.vocab_size)?)
        }
    };
    Ok(Imported {
        recipe: fine_tuning(&config),
        config,
        attention,
        parameters,
        tokenizer,
        step: 0,
        optimizer: None,
        notes,
    })
}
