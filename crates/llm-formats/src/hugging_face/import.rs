//! Reading a folder.

use super::config::{self, ConfigJson};
use super::fields::numbers;
use super::names::HEAD;
use super::tokenizer::object;
use super::{CONFIG, GENERATION, tokenizer, weights};
use crate::chat::ChatFormat;
use crate::error::{FormatError, Result, refuse};
use crate::files::read_small;
use crate::imported::{FromSpec, Imported, Note, Tensors, attention, check};
use crate::mapping::{Source, finished};
use crate::safetensors::{Contents, Values, Wanted};
use llm_core::model::parameter_list;
use llm_core::tokenizer::{PaddedTokenizer, Tokenizer};
use llm_core::{Attention, message};
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
    let named = ends(folder)?;
    let ends = if named.is_empty() { settings.ends.clone() } else { named };
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
    let fields = object(folder, GENERATION, config::MAX_LENGTH)?;
    Ok(numbers(fields.get("eos_token_id")))
}

/// [`import`] from memory: config.json and model.safetensors, without a tokenizer.
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
) -> Result<Tensors> {
    let mut contents = contents.unwrapped();
    let config = &settings.config;
    let names = settings.family.names(config, &settings.attention);
    let map = settings.family.mapping();
    let has_prefix = contents.rows.iter().any(|row| row.name.starts_with(map.prefix));
    let prefix = if has_prefix { map.prefix } else { "" };
    let table = format!("{prefix}{}", map.rest[0].1[0]);
    // Of two names for one tensor, `safetensors.torch.save_model` keeps one.
    if config.tied_head && contents.row(&table).is_none() {
        contents.rename(HEAD, table.clone());
    }
    let list = parameter_list(config, &attention.parameters(config));
    let places = names.all(&list, prefix)?;
    let wanted = |source: &Source| Wanted::parameter(source.name.clone(), source.shape.clone());
    let mut wanted: Vec<_> = places.iter().map(|(_, source)| wanted(source)).collect();
    // Some files hold the tied head a second time.
    if config.tied_head && contents.row(HEAD).is_some() {
        let shape = vec![config.vocab_size, config.d_model];
        wanted.push(Wanted::parameter(HEAD.into(), shape));
    }
    let (mut made, mut head) = (vec![Vec::new(); list.len()], None);
    let ignored = |name: &str| names.is_constant(name, prefix, config.n_layers);
    contents.read(&wanted, ignored, |i, values| {
        let Values::Floats(values) = values else { return Ok(()) };
        match places.get(i) {
            // A whole one is taken as it is.
            Some((ours, source)) if !source.turned && source.shape == list[*ours].1.shape => {
                made[*ours] = values;
            }
            Some((ours, source)) => source.put(0, &values, &mut made[*ours], &list[*ours].1.shape),
            None => head = Some(values),
        }
        Ok(())
    })?;
    let parameters = finished(list, made)?;
    if let Some(head) = head
        && !parameters.iter().any(|(name, p)| name == "wte" && p.data() == head)
    {
        return refuse(message!(
            "{} differs from {}, but config.json ties them; set tie_word_embeddings to false there \
             if the head is its own",
            HEAD,
            table
        ));
    }
    Ok(parameters)
}

fn assemble(
    settings: ConfigJson,
    attention: Arc<dyn Attention>,
    parameters: Tensors,
    tokenizer: Option<Arc<dyn Tokenizer>>,
) -> Result<Imported> {
    let ConfigJson { config, mut notes, .. } = settings;
    let rows = config.vocab_size;
    let tokens = tokenizer.as_ref().map(|tokenizer| tokenizer.vocab_size());
    let fewer = tokens.filter(|tokens| *tokens < rows);
    notes.extend(fewer.map(|tokens| Note::FewerTokens { tokens, rows }));
    let tokenizer = tokenizer.map(|tokenizer| PaddedTokenizer::pad(tokenizer, rows));
    Imported::untrained(config, attention, parameters, tokenizer, notes)
}
