//! Writing a model.

use super::attention;
use super::described::{Described, architecture, family_of};
use super::file::Gguf;
use super::pieces::{Architecture, Piece, pieces};
use super::quantise::Stored;
use super::tokens::Tokens;
use super::value::MetaValue;
use super::write::{Outgoing, write};
use crate::error::{FormatError, Result};
use crate::files::open;
use crate::hugging_face::{has_head_bias, without_heads};
use llm_core::base::Message;
use llm_core::model::Positions;
use llm_core::tokenizer::Tokenizer;
use llm_core::{AttentionSpec, Config, Error, IoAction, Tensor, TinyGPT, TokenId, message};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::Path;

/// Key that only files of ours have, with the version of how they are written.
const OURS: &str = "tiny-gpt.version";

/// What one should know about a file that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exported {
    /// As what.
    pub family: Architecture,
    /// Matrices that were written as F32, since their rows are no whole blocks.
    pub unrounded: usize,
    /// llama.cpp ends every text at some token. This model has none for that, and every text may hold
    /// this one, at which it will end.
    pub ends_at: Option<TokenId>,
}

/// The model as a file can say it, if one can.
///
/// # Errors
/// [`FormatError::NotInGguf`] naming what llama.cpp does not have.
pub fn check_model(model: &TinyGPT) -> Result<Architecture> {
    describe(model).map(|described| described.family)
}

fn describe(model: &TinyGPT) -> Result<Described> {
    let refused = |(piece, family): (Message, Architecture)| {
        Err(FormatError::NotInGguf { piece, family: family.name() })
    };
    let config = model.config();
    let spec = model.attention().spec();
    match attention::check(&spec) {
        Ok(()) => {}
        Err(piece) if config.positions == Positions::Rotary => {
            return refused((piece, Architecture::Llama));
        }
        Err(piece) => return refused((piece, Architecture::Gpt2)),
    }
    let family = match family_of(config, &spec) {
        Ok(family) => family,
        Err(error) => return refused(error),
    };
    if has_head_bias(model) {
        return refused((message!("a bias of its output head (b_lm)"), family));
    }
    // What is not there is written as what computes the same: gains of 1, biases of 0.
    let gpt2 = family == Architecture::Gpt2;
    let config = Config {
        norm_affine: true,
        head_bias: false,
        mlp_bias: gpt2 || config.mlp_bias,
        ..config.clone()
    };
    let biases = spec.biases.map(|bias| gpt2 || bias);
    Ok(Described { family, config, attention: AttentionSpec { biases, ..spec } })
}

/// Writes the model to the file at `path`, its matrices as `stored`, under a `name` that programs show.
///
/// # Errors
/// As [`check_model`]; [`FormatError::NoGgufTokens`] for a tokenizer that llama.cpp has not,
/// [`FormatError::Core`] with what the system says. An old file then stays.
pub fn export(
    path: &Path,
    model: &TinyGPT,
    tokenizer: &dyn Tokenizer,
    stored: Stored,
    name: &str,
) -> Result<Exported> {
    let described = describe(model)?;
    let tokens = Tokens::of(tokenizer)?;
    let family = described.family;
    let all = pieces(family, &described.config, &described.attention);
    let mut exported = Exported { family, unrounded: 0, ends_at: tokens.end_within_text() };
    let mut metadata = general(family, stored, name);
    metadata.extend(described.entries());
    metadata.extend(tokens.entries());
    let spec = model.attention().spec();
    let ours: HashMap<String, &Tensor> = model.parameters().collect();
    let mut tensors = Vec::with_capacity(all.len());
    for piece in all {
        let stored = how(&piece, stored);
        exported.unrounded += usize::from(stored.is_none());
        let values = ours.get(&piece.ours).map(|p| match piece.ours.ends_with(".w_proj") {
            true => without_heads(&piece.ours, p, &spec),
            false => Cow::Borrowed(p.data()),
        });
        tensors.push(outgoing(piece, stored.unwrap_or_default(), values));
    }
    write(path, &metadata, &tensors).map_err(|e| Error::io(IoAction::Save, path, e))?;
    Ok(exported)
}

/// How a tensor is stored; `None` where it should be rounded and its rows are no whole blocks.
fn how(piece: &Piece, stored: Stored) -> Option<Stored> {
    if !piece.may_be_rounded() {
        return Some(Stored::F32);
    }
    let width = piece.theirs.shape.last().copied().unwrap_or(1);
    width.is_multiple_of(stored.kind().numbers()).then_some(stored)
}

/// A tensor with our numbers, or, where we have none, gains of 1 and biases of 0.
fn outgoing(piece: Piece, stored: Stored, values: Option<Cow<'_, [f32]>>) -> Outgoing<'_> {
    let usual = if piece.ours.ends_with("_g") { 1.0 } else { 0.0 };
    Outgoing {
        name: piece.theirs.name.clone(),
        shape: piece.theirs.shape.clone(),
        stored,
        fill: Box::new(move |first, rows| match &values {
            Some(values) => piece.take(first, rows, values),
            None => rows.fill(usual),
        }),
    }
}

fn general(family: Architecture, stored: Stored, name: &str) -> Vec<(String, MetaValue)> {
    let key = |key: &str| key.to_string();
    let mut entries = vec![
        architecture(family),
        (key("general.type"), MetaValue::text("model")),
        (key("general.name"), MetaValue::text(name)),
        (key("general.file_type"), MetaValue::u32(stored.file_type())),
        (key(OURS), MetaValue::u32(1)),
    ];
    if stored == Stored::Q8_0 {
        // Of the layouts of blocks: they have been these since 2023.
        entries.push((key("general.quantization_version"), MetaValue::u32(2)));
    }
    entries
}

/// Whether the file was written by [`export()`]. For a look before it is replaced.
pub fn is_ours(path: &Path) -> bool {
    let file = open(path).and_then(|(file, length)| Gguf::open(io::BufReader::new(file), length));
    file.is_ok_and(|file| file.metadata.contains_key(OURS))
}
