//! Reading a folder.

use super::config::{self, ConfigJson};
use super::fields::numbers;
use super::names::{Names, Source};
use super::{CONFIG, GENERATION, names, tokenizer, weights};
use crate::chat::ChatFormat;
use crate::error::{FormatError, Result, shown};
use crate::files::read_small;
use crate::imported::{FromSpec, Imported, Note, attention, check, fine_tuning, parameter};
use crate::safetensors::{Contents, Values, Wanted};
use llm_core::base::Message;
use llm_core::model::parameter_list;
use llm_core::tokenizer::{IdsTokenizer, PaddedTokenizer, Tokenizer};
use llm_core::{Attention, Tensor, message};
use rayon::prelude::*;
use serde_json::{Map, Value};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Rows that are filled together: 64 bytes of a row of theirs.
const AT_ONCE: usize = 16;

/// Reads a model from a folder.
///
/// # Errors
/// [`FormatError::File`] naming the file that does not fit.
pub fn import(folder: &Path, from_spec: &FromSpec<'_>) -> Result<Imported> {
    if !folder.is_dir() {
        let advice = match folder.exists() {
            true => message!("it is not a folder; name the folder that holds config.json"),
            false => {
                message!("no such folder; hub names are not looked up, download the model first")
            }
        };
        return Err(FormatError::Missing { advice }.at(folder));
    }
    let path = folder.join(CONFIG);
    let text = read_small(&path, config::MAX_LENGTH).map_err(|e| e.at(&path))?;
    let (mut settings, attention) = checked(&text, from_spec).map_err(|e| e.at(&path))?;
    let ends = match ends(folder)? {
        ends if ends.is_empty() => settings.ends.clone(),
        ends => ends,
    };
    let tokenizer = tokenizer::import(folder, settings.config.vocab_size, &ends)?;
    let end = tokenizer.as_ref().and_then(|tokenizer| tokenizer.end_of_text());
    let format = tokenizer.as_deref().and_then(ChatFormat::own);
    let known: Vec<u64> = match format {
        Some(format) => format.ends().into_iter().map(u64::from).collect(),
        None => ends.first().copied().into_iter().collect(),
    };
    if let (Some(end), true) = (end, ends.iter().any(|id| !known.contains(id))) {
        settings.notes.push(Note::FurtherEnds { end });
    }
    if tokenizer::has_two_templates(folder)? {
        settings.notes.push(Note::TwoTemplates);
    }
    let (path, contents) = weights::open_all(folder)?;
    let parameters =
        parameters(&settings, attention.as_ref(), contents).map_err(|e| e.at(&path))?;
    assemble(settings, attention, parameters, tokenizer).map_err(|e| e.at(folder))
}

/// The tokens that end a text by generation_config.json, which may be missing.
fn ends(folder: &Path) -> Result<Vec<u64>> {
    let path = folder.join(GENERATION);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = read_small(&path, config::MAX_LENGTH).map_err(|e| e.at(&path))?;
    let fields: Map<String, Value> = serde_json::from_slice(&text).map_err(|e| {
        FormatError::content(message!("no JSON object: {}", Message::words(shown(&e.to_string()))))
            .at(&path)
    })?;
    Ok(numbers(fields.get("eos_token_id")))
}

/// The same from memory: config.json and model.safetensors, without a tokenizer.
///
/// # Errors
/// [`FormatError`] on whatever does not fit.
pub fn from_parts(config: &[u8], weights: &[u8], from_spec: &FromSpec<'_>) -> Result<Imported> {
    let (settings, attention) = checked(config, from_spec)?;
    let contents = Contents::open(weights, weights.len() as u64)?;
    let parameters = parameters(&settings, attention.as_ref(), contents)?;
    assemble(settings, attention, parameters, None)
}

/// config.json, with everything refused that follows from it alone.
fn checked(text: &[u8], from_spec: &FromSpec<'_>) -> Result<(ConfigJson, Arc<dyn Attention>)> {
    let settings = config::parse(text)?;
    let attention = attention(settings.attention.clone(), from_spec)?;
    check(&settings.config, attention.as_ref())?;
    Ok((settings, attention))
}

/// The weights under our names.
fn parameters(
    settings: &ConfigJson,
    attention: &dyn Attention,
    contents: Contents<impl Read>,
) -> Result<Vec<(String, Tensor)>> {
    let mut contents = contents.unwrapped();
    let config = &settings.config;
    let names = Names::new(settings.family, config, &settings.attention);
    let has_prefix = contents.rows.iter().any(|row| row.name.starts_with(names.prefix()));
    let prefix = if has_prefix { names.prefix() } else { "" };
    let table = format!("{prefix}{}", names.table());
    // Of two names for one tensor, `safetensors.torch.save_model` keeps one.
    if config.tied_head && contents.row(&table).is_none() {
        contents.rename(names::HEAD, table);
    }
    let list = parameter_list(config, &attention.parameters(config));
    let (mut wanted, mut places) = (Vec::new(), Vec::new());
    for (i, (ours, p)) in list.iter().enumerate() {
        let sources = names.sources(ours, &p.shape, prefix);
        let missing =
            || FormatError::content(message!("{} has no {}", settings.family.classes()[0], ours));
        for source in sources.ok_or_else(missing)? {
            wanted.push(Wanted::parameter(source.name.clone(), source.shape.clone()));
            places.push((i, source));
        }
    }
    // Some files hold the tied head a second time.
    let again = config.tied_head && contents.row(names::HEAD).is_some();
    if again {
        let shape = vec![config.vocab_size, config.d_model];
        wanted.push(Wanted::parameter(names::HEAD.into(), shape));
    }
    let mut made: Vec<Vec<f32>> = vec![Vec::new(); list.len()];
    let mut head = None;
    let ignored = |name: &str| names.is_constant(name, prefix, config.n_layers);
    contents.read(&wanted, ignored, |i, values| {
        let Values::Floats(values) = values else { return Ok(()) };
        match places.get(i) {
            Some((ours, source)) => place(&mut made[*ours], values, source, &list[*ours].1.shape),
            None => head = Some(values),
        }
        Ok(())
    })?;
    let parameters = list.into_iter().zip(made);
    let parameters = parameters.map(|((name, p), values)| {
        let made = parameter(&p.shape, values)?;
        Ok((name, made))
    });
    let parameters = parameters.collect::<Result<Vec<_>>>()?;
    if let Some(head) = head
        && !parameters.iter().any(|(name, p)| name == "wte" && p.data() == head)
    {
        let table = format!("{prefix}{}", names.table());
        return Err(FormatError::content(message!(
            "{} differs from {}, but config.json ties them; set tie_word_embeddings to false there \
             if the head is its own",
            names::HEAD,
            table
        )));
    }
    Ok(parameters)
}

/// Puts a tensor of theirs into ours, of which it is some columns.
fn place(ours: &mut Vec<f32>, values: Vec<f32>, source: &Source, shape: &[usize]) {
    let (all, width) = (shape.last().copied().unwrap_or(0), source.columns.len());
    if !source.turned && width == all {
        *ours = values;
        return;
    }
    ours.resize(shape.iter().product(), 0.0);
    if !source.turned {
        let rows = ours.chunks_exact_mut(all).zip(values.chunks_exact(width));
        rows.for_each(|(row, part)| row[source.columns.clone()].copy_from_slice(part));
        return;
    }
    // Some rows of ours a time, so that what is read of theirs is still at hand for the next one.
    let inner = values.len() / width.max(1); // numbers in a row of theirs: rows of ours
    ours.par_chunks_mut(AT_ONCE * all).enumerate().for_each(|(n, rows)| {
        let first = n * AT_ONCE;
        for (column, row) in source.columns.clone().zip(values.chunks_exact(inner)) {
            let cells = rows.iter_mut().skip(column).step_by(all);
            cells.zip(&row[first..]).for_each(|(cell, x)| *cell = *x);
        }
    });
}

fn assemble(
    settings: ConfigJson,
    attention: Arc<dyn Attention>,
    parameters: Vec<(String, Tensor)>,
    tokenizer: Option<Arc<dyn Tokenizer>>,
) -> Result<Imported> {
    let ConfigJson { config, mut notes, .. } = settings;
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
