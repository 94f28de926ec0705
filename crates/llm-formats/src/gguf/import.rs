//! Reading a model: its matrices become f32, whatever they were stored as.

use super::block::BlockType;
use super::described::Described;
use super::file::{Gguf, Needed, TensorInfo};
use super::pieces::{Piece, pieces};
use super::tokens::Tokens;
use super::value::MetaValue;
use crate::bpe;
use crate::error::{FormatError, Result};
use crate::files::open;
use crate::imported::{FromSpec, Imported, Note, attention, check, fine_tuning, parameter};
use llm_core::base::memory;
use llm_core::model::parameter_list;
use llm_core::tokenizer::{IdsTokenizer, Tokenizer};
use llm_core::{Attention, Config, Tensor, message};
use std::collections::HashMap;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// Key of the way in which a model is talked to.
const TEMPLATE: &str = "tokenizer.chat_template";

/// Reads a model from the file at `path`.
///
/// # Errors
/// [`FormatError::File`] on whatever does not fit.
pub fn import(path: &Path, from_spec: &FromSpec<'_>) -> Result<Imported> {
    let model = || {
        let (file, length) = open(path)?;
        read(io::BufReader::with_capacity(1 << 16, file), length, from_spec)
    };
    model().map_err(|e| e.at(path))
}

/// [`import()`] from a reader of `length` bytes.
///
/// # Errors
/// [`FormatError`] on whatever does not fit.
pub fn read(input: impl Read, length: u64, from_spec: &FromSpec<'_>) -> Result<Imported> {
    let mut file = Gguf::open(input, length)?;
    let Described { family, config, attention: spec } =
        Described::read(&file.metadata, &file.tensors)?;
    let attention = attention(spec.clone(), from_spec)?;
    check(&config, attention.as_ref())?;
    let tokens = Tokens::read(&mut file.metadata, family == super::Architecture::Gpt2)?;
    let mut notes = Vec::new();
    let template = matches!(file.metadata.get(TEMPLATE), Some(MetaValue::Text(_)));
    notes.extend(rounded(&file.tensors).map(|kind| Note::Rounded { kind: kind.name() }));
    let parameters = parameters(file, &config, attention.as_ref(), pieces(family, &config, &spec))?;
    let tokenizer: Arc<dyn Tokenizer> = match tokens {
        Some(tokens) => {
            let tokenizer = tokens.tokenizer(config.vocab_size)?;
            notes.extend(tokens.foreign_end(&*tokenizer).map(|token| Note::OtherEnd { token }));
            tokenizer
        }
        None => {
            notes.push(Note::NoTokenizer);
            Arc::new(IdsTokenizer::new(config.vocab_size)?)
        }
    };
    if template && tokenizer.name() != bpe::NAME {
        notes.push(Note::ChatTemplate);
    }
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

/// The type of blocks in which most of the rounded numbers are stored, if any are.
pub(super) fn rounded(tensors: &[TensorInfo]) -> Option<BlockType> {
    let rounded = || tensors.iter().filter(|tensor| tensor.kind.numbers() > 1);
    let numbers = |kind| {
        let of_it = rounded().filter(|tensor| tensor.kind == kind);
        of_it.map(|tensor| tensor.shape.iter().product::<usize>()).sum::<usize>()
    };
    rounded().map(|tensor| tensor.kind).max_by_key(|&kind| numbers(kind))
}

/// A parameter that is being filled.
struct Growing {
    name: String,
    shape: Vec<usize>,
    values: Vec<f32>,
}

/// The weights under our names. Each piece goes to its place row by row: no tensor of the file is in
/// memory as a whole in addition.
fn parameters(
    file: Gguf<impl Read>,
    config: &Config,
    attention: &dyn Attention,
    pieces: Vec<Piece>,
) -> Result<Vec<(String, Tensor)>> {
    let mut all: Vec<_> = parameter_list(config, &attention.parameters(config))
        .into_iter()
        .map(|(name, p)| Growing { name, shape: p.shape, values: Vec::new() })
        .collect();
    let numel = |shape: &[usize]| shape.iter().product::<usize>();
    memory::require(all.iter().map(|p| 4 * numel(&p.shape) as u64).sum())?;
    let places: HashMap<&str, usize> =
        all.iter().enumerate().map(|(i, p)| (p.name.as_str(), i)).collect();
    let mut targets = Vec::with_capacity(pieces.len());
    for piece in &pieces {
        let fits = |i: &usize| piece.fits(&all[*i].shape);
        let target = places.get(piece.ours.as_str()).copied().filter(fits);
        let refused =
            || FormatError::content(message!("the attention has no such {}", &piece.ours));
        targets.push(target.ok_or_else(refused)?);
    }
    let needed: Vec<Needed> = pieces.iter().map(|piece| piece.theirs.clone()).collect();
    file.read(&needed, |i, first, rows| {
        let Growing { shape, values, .. } = &mut all[targets[i]];
        if values.is_empty() {
            *values = vec![0.0; shape.iter().product()];
        }
        pieces[i].put(first, rows, values);
        Ok(())
    })?;
    let made = all.into_iter().map(|Growing { name, shape, values }| {
        let p = parameter(&shape, values)?;
        Ok((name, p))
    });
    made.collect()
}
