//! Writing a folder.

use super::{CONFIG, Family, GENERATION, WEIGHTS, config, llama, tokenizer};
use crate::chat::ChatFormat;
use crate::error::{FormatError, Result};
use crate::holder::{ATTENTIONS, GPT2, Holder, has_head_bias};
use crate::mapping::{Source, outgoing};
use crate::safetensors::{Data, Named, write};
use crate::tokenizers;
use llm_core::base::{Message, replace_file};
use llm_core::model::Positions;
use llm_core::tokenizer::{IdsTokenizer, Tokenizer};
use llm_core::{AttentionSpec, Config, Error, IoAction, TinyGPT, message};
use serde_json::{Value, json};
use std::io;
use std::path::{Path, PathBuf};

/// The family of theirs that holds the model.
///
/// # Errors
/// [`FormatError::AttentionKind`], [`FormatError::Piece`] and [`FormatError::HeadBias`] for what none of
/// them has.
pub fn check_model(model: &TinyGPT) -> Result<Family> {
    let name = model.attention().spec().name;
    if !ATTENTIONS.contains(&name.as_str()) {
        return Err(FormatError::AttentionKind { name: name.escape_default().to_string() });
    }
    let (family, holder) = match model.config().positions {
        Positions::Rotary => (llama::family(model), "Llama"),
        Positions::Learned | Positions::None => {
            let gpt2 = Holder { exact_gelu: true, ..GPT2 };
            (gpt2.check(model).map(|()| Family::Gpt2), "GPT-2")
        }
    };
    let family = family.map_err(|piece| FormatError::Piece { piece, holder })?;
    if has_head_bias(model) { Err(FormatError::HeadBias) } else { Ok(family) }
}

/// Sentences about what [`export`] writes otherwise than it is in the model.
pub fn notes(model: &TinyGPT, tokenizer: &dyn Tokenizer, family: Family) -> Vec<Message> {
    let mut notes = Vec::new();
    let off = model.attention().spec().head_mask.iter().filter(|used| !**used).count();
    let config = model.config();
    match family {
        Family::Gpt2 => {
            if !config.norm_affine {
                notes.push(message!("norms are written with gains of 1 and biases of 0"));
            }
            if !config.mlp_bias {
                notes.push(message!("the MLPs are written with biases of 0"));
            }
        }
        Family::Llama | Family::Mistral | Family::Qwen2 | Family::Qwen3 => {
            if !config.norm_affine {
                notes.push(message!("norms are written with gains of 1"));
            }
            if config.dropout > 0.0 {
                notes.push(message!("dropout is not written: theirs is of the attention alone"));
            }
        }
    }
    if off > 0 {
        notes.push(message!(
            "{} heads are switched off: what their outputs are multiplied by is written as 0",
            off
        ));
    }
    if tokenizer.name() == IdsTokenizer::NAME {
        notes.push(message!("the model has no tokenizer: no tokenizer files are written"));
    }
    notes
}

/// Makes the folder, which must be new or empty: nothing there is ever replaced.
///
/// # Errors
/// [`Error::Io`] about a folder that cannot be used.
pub fn prepare_folder(folder: &Path) -> llm_core::Result<()> {
    let refused = |source: io::Error| Error::io(IoAction::Create, folder, source);
    if folder.exists() && !folder.is_dir() {
        return Err(refused(io::Error::other(message!("it is not a folder"))));
    }
    std::fs::create_dir_all(folder).map_err(refused)?;
    match std::fs::read_dir(folder).map_err(refused)?.next() {
        None => Ok(()),
        Some(_) => Err(refused(io::Error::other(message!("the folder is not empty")))),
    }
}

/// Writes all files into the empty `folder`, config.json last: without it the folder is no model.
/// A failure leaves none of them.
///
/// # Errors
/// As [`check_model`]; [`FormatError::TokenizerKind`] for another thing that GPT-2 does not have,
/// [`FormatError::Core`] with what the system says.
pub fn export(folder: &Path, model: &TinyGPT, tokenizer: &dyn Tokenizer) -> Result<()> {
    let model = &model.clone().merged();
    let family = check_model(model)?;
    let config = model.config();
    let mut files = tokenizer::export(tokenizer, config.seq_len)?;
    let end = tokenizer.end_of_text();
    let begin = tokenizers::begin_of_text(tokenizer)?;
    // A model that learned turns ends where one does, and where a text does.
    let ends = ChatFormat::own(tokenizer).map(|format| format.ends()).unwrap_or_default();
    let ends = if ends.len() > 1 { json!(ends) } else { json!(end.or(ends.first().copied())) };
    let generation =
        json!({"_from_model_config": true, "bos_token_id": begin, "eos_token_id": ends});
    files.push((GENERATION, pretty(&generation)));
    let spec = model.attention().spec();
    let settings = match family {
        Family::Gpt2 => config::write(config, spec.n_heads, end),
        Family::Llama | Family::Mistral | Family::Qwen2 | Family::Qwen3 => {
            llama::write(config, &spec, family, begin, end)
        }
    };
    files.push((CONFIG, pretty(&settings)));
    let tensors = tensors(model, family)?;
    let weights = folder.join(WEIGHTS);
    let mut written = vec![weights.clone()];
    let all = || -> Result<(), (PathBuf, io::Error)> {
        let metadata = ("format", "pt"); // which library's shapes these are
        write(&weights, metadata, tensors).map_err(|e| (weights.clone(), e))?;
        for (name, bytes) in &files {
            let path = folder.join(name);
            written.push(path.clone());
            replace_file(&path, |out| out.write_all(bytes)).map_err(|e| (path, e))?;
        }
        Ok(())
    };
    all().map_err(|(path, source)| {
        written.iter().for_each(|path| drop(std::fs::remove_file(path)));
        FormatError::Core(Error::io(IoAction::Save, path, source))
    })
}

/// JSON as people read it.
pub(super) fn pretty(value: &Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}

/// The model's tensors under their names.
fn tensors(model: &TinyGPT, family: Family) -> Result<Vec<Named<'_>>> {
    let spec = model.attention().spec();
    let any = spec.biases.contains(&true);
    let biases = match family {
        Family::Gpt2 => [true; 2],
        Family::Llama | Family::Qwen3 => [any; 2],
        Family::Mistral | Family::Qwen2 => spec.biases,
    };
    let config = model.config();
    let mlp_bias = config.mlp_bias || family == Family::Gpt2;
    let theirs = Config { norm_affine: true, head_bias: false, mlp_bias, ..config.clone() };
    let attention = AttentionSpec { biases, ..spec };
    let named = |(source, fill): (Source, _)| {
        let Source { name, shape, .. } = source;
        Named { name, shape, data: Data::Rows(fill) }
    };
    let all = outgoing(model, &family.names(&theirs, &attention), &theirs, &attention)?;
    Ok(all.into_iter().map(named).collect())
}
