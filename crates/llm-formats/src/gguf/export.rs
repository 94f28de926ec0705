//! Writing a model.

use super::architecture::Architecture;
use super::described::{ARCHITECTURE, Described, KIND};
use super::file::Gguf;
use super::names::POSITIONS;
use super::quantise::Stored;
use super::survival::{Sums, Survival};
use super::tokens::Tokens;
use super::value::{Entry, MetaValue};
use super::write::{Outgoing, write};
use crate::error::{FormatError, Result, shown};
use crate::files::read_file;
use crate::holder::{ATTENTIONS, has_head_bias};
use crate::mapping::{Source, outgoing};
use llm_core::base::Message;
use llm_core::model::Positions;
use llm_core::tokenizer::Tokenizer;
use llm_core::{AttentionSpec, Config, Error, IoAction, TinyGPT, TokenId, message};
use std::path::Path;

/// Key that only files of ours have, with the version of how they are written.
pub(super) const OURS: &str = "tiny-gpt.version";

/// Facts about a file that was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exported {
    /// The kind of model in the file.
    pub family: Architecture,
    /// Matrices that were written as F32, since their rows are no whole blocks.
    pub unrounded: usize,
    /// llama.cpp ends every text at some token. This model has none for that, and every text may hold
    /// this one, at which it will end.
    pub ends_at: Option<TokenId>,
    /// What is left of the adapter that became a part of the matrices, where these are rounded.
    pub survival: Option<Survival>,
}

/// Which kind of llama.cpp's models a file can hold the model as.
///
/// # Errors
/// [`FormatError::NotInGguf`] naming what llama.cpp does not have.
pub fn check_model(model: &TinyGPT) -> Result<Architecture> {
    let (config, spec) = (model.config(), model.attention().spec());
    let family = match (config.positions, spec.qk_norm) {
        (Positions::Learned | Positions::None, _) => Architecture::Gpt2,
        (Positions::Rotary, false) => Architecture::Llama,
        (Positions::Rotary, true) => Architecture::Qwen3,
    };
    let refused = |piece: Message| FormatError::NotInGguf { piece, family: family.name() };
    if !ATTENTIONS.contains(&spec.name.as_str()) {
        return Err(refused(message!("'{}' attention", shown(&spec.name))));
    }
    family.holder().check(model).map_err(refused)?;
    let biases = spec.biases.contains(&true) || config.mlp_bias;
    if family == Architecture::Qwen3 && biases {
        return Err(refused(message!("biases")));
    }
    match has_head_bias(model) {
        true => Err(refused(message!("a bias of its output head (b_lm)"))),
        false => Ok(family),
    }
}

/// The model as one of the family, with everything that its files always have.
fn described(model: &TinyGPT, family: Architecture) -> Described {
    let (config, attention) = (model.config().clone(), model.attention().spec());
    let all = family == Architecture::Gpt2;
    let mlp_bias = all || config.mlp_bias;
    let biases = attention.biases.map(|bias| all || bias);
    Described {
        family,
        config: Config { norm_affine: true, head_bias: false, mlp_bias, ..config },
        attention: AttentionSpec { biases, ..attention },
    }
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
    let (apart, model) = (model, &model.clone().merged());
    let family = check_model(model)?;
    let described = described(model, family);
    let tokens = Tokens::of(tokenizer)?;
    let mut exported =
        Exported { family, unrounded: 0, ends_at: tokens.end_within_text(), survival: None };
    let mut metadata = general(family, stored, name);
    metadata.extend(described.entries());
    metadata.extend(tokens.entries());
    let Described { config, attention, .. } = described;
    let names = family.names(&config, &attention);
    let tensor = |(source, fill): (Source, _)| {
        let stored = how(&source, stored);
        exported.unrounded += usize::from(stored.is_none());
        let Source { name, shape, .. } = source;
        Outgoing { name, shape, stored: stored.unwrap_or_default(), fill }
    };
    let tensors = outgoing(model, &names, &config, &attention)?;
    let tensors: Vec<_> = tensors.into_iter().map(tensor).collect();
    write(path, &metadata, &tensors).map_err(|e| Error::io(IoAction::Save, path, e))?;
    if apart.adapter().is_some() && stored != Stored::F32 {
        let mut sums = Sums::default();
        let before = outgoing(apart, &names, &config, &attention)?;
        for ((source, w), changed) in before.iter().zip(&tensors) {
            sums.add(source, changed.stored, [w, &changed.fill]);
        }
        exported.survival = sums.survival();
    }
    Ok(exported)
}

/// How a tensor is stored: vectors and positions as they are. `None` where it should be rounded and
/// its rows are no whole blocks.
fn how(source: &Source, stored: Stored) -> Option<Stored> {
    match *source.shape {
        [_, width] if source.name != POSITIONS => {
            width.is_multiple_of(stored.kind().numbers()).then_some(stored)
        }
        _ => Some(Stored::F32),
    }
}

fn general(family: Architecture, stored: Stored, name: &str) -> Vec<Entry> {
    let mut entries = vec![
        (ARCHITECTURE, MetaValue::text(family.name())),
        (KIND, MetaValue::text("model")),
        ("general.name", MetaValue::text(name)),
        ("general.file_type", MetaValue::u32(stored.file_type())),
        (OURS, MetaValue::u32(1)),
    ];
    if stored == Stored::Q8_0 {
        // The version of the layouts of blocks, the current one since 2023.
        entries.push(("general.quantization_version", MetaValue::u32(2)));
    }
    entries.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
}

/// Whether the file was written by [`export()`]. For a look before it is replaced.
pub fn is_ours(path: &Path) -> bool {
    read_file(path, Gguf::open).is_ok_and(|file| file.metadata.contains_key(OURS))
}
