//! An adapter by itself, as llama.cpp adds it to the model that it is for.
//!
//! ```text
//! theirs [out, in] ← theirs + (alpha/r)·B·A,   A .lora_a [r, in],  B .lora_b [out, r]
//! ```
//!
//! A file has one alpha, and every pair its own r. What another scale a pair has is put into its B, so a file says
//! all that an adapter is. Rows of B are where the model's own are, see `names`.

use super::architecture::Architecture;
use super::described::{ARCHITECTURE, KIND};
use super::export::{OURS, check_model};
use super::quantise::Stored;
use super::value::MetaValue;
use super::write::{Outgoing, write};
use crate::error::Result;
use crate::hugging_face::peft::{BASE, hex};
use crate::pairs;
use crate::safetensors::Fill;
use llm_core::{Error, IoAction, TinyGPT};
use std::path::Path;

/// Writes the model's adapter to the file at `path`, under a `name` that programs show.
///
/// # Errors
/// As [`check_model`]; [`FormatError::Content`](crate::FormatError::Content) for a model without an adapter,
/// [`FormatError::Core`](crate::FormatError::Core) with what the system says. An old file then stays.
pub fn export_adapter(path: &Path, model: &TinyGPT, name: &str) -> Result<Architecture> {
    let family = check_model(model)?;
    let names = family.names(model.config(), &model.attention().spec());
    let pairs = pairs::outgoing(model, &names)?;
    let scale = |pair: &pairs::Outgoing<'_>| pair.part.scale * pair.part.rank as f32;
    // llama.cpp takes an alpha of 0 for none.
    let alpha = pairs.iter().map(scale).find(|alpha| *alpha != 0.0).unwrap_or(1.0);
    let base = model.base().map(|(blake3, _)| hex(blake3)).unwrap_or_default();
    let metadata = [
        (ARCHITECTURE, MetaValue::text(family.name())),
        (KIND, MetaValue::text("adapter")),
        ("general.name", MetaValue::text(name)),
        ("adapter.type", MetaValue::text("lora")),
        ("adapter.lora.alpha", MetaValue::Single(alpha)),
        (OURS, MetaValue::u32(1)),
        (BASE, MetaValue::text(&base)),
    ];
    let metadata = metadata.map(|(key, value)| (key.to_string(), value));
    let tensors = pairs.into_iter().flat_map(|pair| {
        let by = scale(&pair) / alpha;
        let [(of_a, a), (of_b, b)] = pair.tensors;
        let b: Fill<'_> = Box::new(move |first, rows| {
            b(first, rows);
            rows.iter_mut().for_each(|x| *x *= by);
        });
        [("a", of_a, a), ("b", of_b, b)].map(|(kind, shape, fill)| Outgoing {
            name: format!("{}.lora_{kind}", pair.name),
            shape,
            stored: Stored::F32,
            fill,
        })
    });
    let tensors: Vec<_> = tensors.collect();
    write(path, &metadata, &tensors).map_err(|e| Error::io(IoAction::Save, path, e))?;
    Ok(family)
}
