//! Reading a model: its matrices become f32, whatever they were stored as.

use super::block::BlockType;
use super::described::{Described, KIND};
use super::file::{Gguf, TensorInfo};
use super::tokens::Tokens;
use super::value::MetaValue;
use crate::bpe;
use crate::error::{Result, refuse};
use crate::files::read_file;
use crate::imported::{FromSpec, Imported, Note, Tensors, attention, check};
use crate::mapping::{Names, Source, finished};
use crate::safetensors::Wanted;
use llm_core::base::memory;
use llm_core::message;
use llm_core::model::{ParamList, parameter_list};
use std::io::Read;
use std::path::Path;

/// Key of the way in which a model is talked to.
const TEMPLATE: &str = "tokenizer.chat_template";

/// Reads a model from the file at `path`.
///
/// # Errors
/// [`FormatError::File`](crate::error::FormatError::File) on whatever does not fit.
pub fn import(path: &Path, from_spec: &FromSpec<'_>) -> Result<Imported> {
    read_file(path, |file, length| read(file, length, from_spec))
}

/// [`import()`] from a reader of `length` bytes.
///
/// # Errors
/// [`FormatError`](crate::error::FormatError) on whatever does not fit.
pub fn read(input: impl Read, length: u64, from_spec: &FromSpec<'_>) -> Result<Imported> {
    let mut file = Gguf::open(input, length)?;
    if file.metadata.get(KIND) == Some(&MetaValue::text("adapter")) {
        return refuse(message!("it is an adapter ({}) without its model", KIND));
    }
    let Described { family, config, attention: spec } =
        Described::read(&file.metadata, &file.tensors)?;
    let attention = attention(spec.clone(), from_spec)?;
    check(&config, attention.as_ref())?;
    let tokens = Tokens::read(&mut file.metadata, family == super::Architecture::Gpt2)?;
    let mut notes = Vec::new();
    let template = matches!(file.metadata.get(TEMPLATE), Some(MetaValue::Text(_)));
    notes.extend(rounded(&file.tensors).map(|kind| Note::Rounded { kind: kind.name() }));
    let list = parameter_list(&config, &attention.parameters(&config));
    let parameters = parameters(file, list, &family.names(&config, &spec))?;
    let tokenizer = tokens.as_ref().map(|tokens| tokens.tokenizer(config.vocab_size));
    let tokenizer = tokenizer.transpose()?;
    if let Some((tokens, tokenizer)) = tokens.zip(tokenizer.as_ref()) {
        notes.extend(tokens.foreign_end(&**tokenizer).map(|token| Note::OtherEnd { token }));
    }
    if template && tokenizer.as_ref().is_none_or(|tokenizer| tokenizer.name() != bpe::NAME) {
        notes.push(Note::ChatTemplate);
    }
    Imported::untrained(config, attention, parameters, tokenizer, notes)
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

/// The weights under our names. Each piece goes to its place row by row: no tensor of the file is in
/// memory as a whole in addition.
fn parameters(file: Gguf<impl Read>, list: ParamList, names: &Names) -> Result<Tensors> {
    memory::require(list.iter().map(|(_, p)| 4 * p.numel()).sum())?;
    let sources = names.all(&list, "")?;
    let wanted = |(_, of): &(usize, Source)| Wanted::parameter(of.name.clone(), of.shape.clone());
    let mut made = vec![Vec::new(); list.len()];
    file.read(&sources.iter().map(wanted).collect::<Vec<_>>(), |i, first, rows| {
        let (ours, source) = &sources[i];
        source.put(first, rows, &mut made[*ours], &list[*ours].1.shape);
        Ok(())
    })?;
    finished(list, made)
}
