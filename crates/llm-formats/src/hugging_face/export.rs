//! Writing a folder.

use super::names::Names;
use super::{CONFIG, Family, GENERATION, WEIGHTS, config, llama, tokenizer};
use crate::chat::ChatFormat;
use crate::error::{FormatError, Result, foreign_block};
use crate::imported::{SEVERAL, is_modern};
use crate::safetensors::{Data, Named, write};
use crate::tokenizers;
use llm_core::base::{Message, replace_file};
use llm_core::model::{Mlp, Norm, Param, Positions, SingleHead, parameter_list};
use llm_core::tokenizer::{IdsTokenizer, Tokenizer};
use llm_core::{AttentionSpec, Config, Error, IoAction, Tensor, TinyGPT, message};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

/// Whether the output head adds something other than 0. GPT-2's cannot.
pub fn has_head_bias(model: &TinyGPT) -> bool {
    model.b_lm.as_ref().is_some_and(|bias| bias.data().iter().any(|&x| x != 0.0))
}

/// Which of their models it is.
///
/// # Errors
/// [`FormatError::AttentionKind`], [`FormatError::Piece`] and [`FormatError::HeadBias`] for what none of
/// them has.
pub fn check_model(model: &TinyGPT) -> Result<Family> {
    let (spec, config) = (model.attention().spec(), model.config());
    let family = match is_modern(&spec) {
        true => llama::family(config, &spec)
            .map_err(|piece| FormatError::Piece { piece, holder: "Llama" })?,
        false if ![SingleHead::NAME, SEVERAL].contains(&spec.name.as_str()) => {
            return Err(FormatError::AttentionKind {
                name: spec.name.escape_default().to_string(),
            });
        }
        false => match foreign_piece(config) {
            Some(piece) => return Err(FormatError::Piece { piece, holder: "GPT-2" }),
            None => Family::Gpt2,
        },
    };
    if has_head_bias(model) { Err(FormatError::HeadBias) } else { Ok(family) }
}

/// What the settings ask for and GPT-2 does not compute. MLPs without biases are no such thing: they
/// are written with biases of 0.
fn foreign_piece(config: &Config) -> Option<Message> {
    foreign_block(config, Norm::Layer, Mlp::Gelu).or_else(|| match config.positions {
        Positions::None => Some(message!("an order of tokens that nothing tells (none)")),
        Positions::Rotary => Some(message!("rotary positions (rotary)")),
        Positions::Learned => None,
    })
}

/// What [`export`] writes otherwise than it is in the model.
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
        _ => {
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
        _ => llama::write(config, &spec, family, begin, end),
    };
    files.push((CONFIG, pretty(&settings)));
    let weights = folder.join(WEIGHTS);
    let mut written = vec![weights.clone()];
    let mut all = || -> Result<(), (PathBuf, io::Error)> {
        let metadata = ("format", "pt"); // which library's shapes these are
        write(&weights, metadata, tensors(model, family)).map_err(|e| (weights.clone(), e))?;
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

fn pretty(value: &Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}

/// The model's tensors under their names. Norms without gain and bias get gains of 1 and biases of
/// 0, products without biases get biases of 0 where theirs have some, and what reads a head that is
/// switched off is 0: the function is the same.
fn tensors(model: &TinyGPT, family: Family) -> Vec<Named<'_>> {
    let spec = model.attention().spec();
    let ours: HashMap<String, &Tensor> = model.parameters().collect();
    let mut theirs = Config { norm_affine: true, head_bias: false, ..model.config().clone() };
    let mut attention = model.attention().parameters(&theirs);
    if family == Family::Gpt2 {
        theirs.mlp_bias = true;
    }
    if matches!(family, Family::Llama | Family::Qwen3) {
        match spec.biases {
            [false, true] => {
                let wide = spec.qkv_width(theirs.d_model);
                attention.push(("b_qkv".into(), Param::bias(wide)));
            }
            [true, false] => attention.push(("b_proj".into(), Param::bias(theirs.d_model))),
            _ => {}
        }
    }
    let names = Names::new(family, &theirs, &spec);
    let mut all = Vec::new();
    for (name, param) in parameter_list(&theirs, &attention) {
        let (columns, found) = (param.shape.last().copied().unwrap_or(0), ours.get(&name));
        let values = match found {
            Some(p) if name.ends_with(".w_proj") => without_heads(&name, p, &spec),
            Some(p) => Cow::Borrowed(p.data()),
            None => {
                let value = if name.ends_with("_g") { 1.0 } else { 0.0 };
                Cow::Owned(vec![value; param.shape.iter().product()])
            }
        };
        // A parameter that is in parts is one of ours: nothing is copied.
        for source in names.sources(&name, &param.shape, names.prefix()).unwrap_or_default() {
            let (values, part) = (values.clone(), source.columns.clone());
            let data = match (source.turned, values) {
                (true, values) => Data::Transposed { values, columns, part },
                (false, Cow::Borrowed(values)) if param.shape.len() == 1 => {
                    Data::Floats(Cow::Borrowed(&values[part]))
                }
                (false, Cow::Owned(values)) if param.shape.len() == 1 => {
                    Data::Floats(Cow::Owned(values[part].to_vec()))
                }
                (false, values) => Data::Floats(values),
            };
            all.push(Named { name: source.name, shape: source.shape, data });
        }
    }
    all
}

/// `w_proj [H·D, C]` with rows h·D..(h+1)·D set to 0 for every head h that is switched off: what
/// that head computes is then added to nothing, as if it were not there.
pub(crate) fn without_heads<'a>(
    name: &str,
    w_proj: &'a Tensor,
    spec: &AttentionSpec,
) -> Cow<'a, [f32]> {
    let block = name.split('.').nth(1).and_then(|i| i.parse::<usize>().ok()).unwrap_or(0);
    let mask = spec.head_mask.chunks_exact(spec.n_heads).nth(block).unwrap_or_default();
    let mut values = Cow::Borrowed(w_proj.data());
    for (h, _) in mask.iter().enumerate().filter(|(_, used)| !**used) {
        let rows = w_proj.numel() / spec.n_heads; // D·C numbers
        values.to_mut()[h * rows..(h + 1) * rows].fill(0.0);
    }
    values
}
