//! Reading a folder.

use super::super::{check_model, config::MAX_LENGTH};
use super::config::Settings;
use super::{BASE, PICKLE, SETTINGS, TENSORS, hex, module, tensor};
use crate::error::{FormatError, Result, refuse, shown};
use crate::files::{json_object, read_file, read_small};
use crate::imported::Note;
use crate::mapping::Source;
use crate::pairs::{Thin, incoming};
use crate::safetensors::{Contents, Values, Wanted};
use llm_core::model::{AdapterSpec, Part};
use llm_core::{Tensor, TinyGPT, message};
use std::collections::HashSet;
use std::io::Read;
use std::path::Path;

/// The model with the adapter of a folder beside it, and what is to be known about that.
///
/// # Errors
/// [`FormatError::File`] naming the file that does not fit: an adapter of another kind, tensors that the model has
/// no place for, other weights than those that it learned on; as [`check_model`].
pub fn import(folder: &Path, model: TinyGPT) -> Result<(TinyGPT, Vec<Note>)> {
    let (settings, tensors) = (folder.join(SETTINGS), folder.join(TENSORS));
    if !settings.is_file() {
        let advice = message!("no {} there; name the folder that peft saved", SETTINGS);
        return Err(FormatError::Missing { advice }.at(folder));
    }
    let text = read_small(&settings, MAX_LENGTH).and_then(|text| json_object(&text));
    let read = text.and_then(|text| Settings::parse(&text)).map_err(|e| e.at(&settings))?;
    if !tensors.exists() && folder.join(PICKLE).exists() {
        let why = message!(
            "a pickle of Python is not read; save it again in Python: \
             model.save_pretrained(.., safe_serialization=True)"
        );
        return Err(FormatError::content(why).at(&folder.join(PICKLE)));
    }
    read_file(&tensors, |file, length| beside(model, &read, Contents::open(file, length)?))
}

/// The model with these tensors beside it.
fn beside(
    model: TinyGPT,
    settings: &Settings,
    contents: Contents<impl Read>,
) -> Result<(TinyGPT, Vec<Note>)> {
    let mut notes = Vec::new();
    match contents.metadata.get(BASE) {
        Some(blake3) => check_base(blake3, &hex(&model.weights_blake3()))?,
        None => notes.push(Note::BaseUnproven),
    }
    let places = places(&model, settings, &contents)?;
    let thin: Vec<(usize, &Thin)> = places
        .iter()
        .enumerate()
        .flat_map(|(i, place)| place.thin.iter().map(move |t| (i, t)))
        .collect();
    let wanted = thin.iter().flat_map(|(_, thin)| {
        [&thin.a, &thin.b]
            .into_iter()
            .enumerate()
            .map(|(kind, of)| Wanted::parameter(tensor(&thin.name, kind), of.shape.clone()))
    });
    let wanted: Vec<_> = wanted.collect();
    let mut read = vec![Vec::new(); wanted.len()];
    contents.read(
        &wanted,
        |_| false,
        |i, values| {
            if let Values::Floats(values) = values {
                read[i] = values;
            }
            Ok(())
        },
    )?;
    if read.chunks_exact(2).all(|both| both[1].iter().all(|x| *x == 0.0)) {
        notes.push(Note::NoChange);
    }
    let mut made = vec![[Vec::new(), Vec::new()]; places.len()];
    for ((i, thin), both) in thin.into_iter().zip(read.chunks_exact(2)) {
        let [a, b] = &mut made[i];
        thin.put([&both[0], &both[1]], [a, b], places[i].shapes());
    }
    let (mut spec, mut parameters) = (AdapterSpec::default(), Vec::new());
    for (place, values) in places.into_iter().zip(made) {
        for ((values, shape), kind) in values.into_iter().zip(place.shapes()).zip(["a", "b"]) {
            let tensor = Tensor::from_vec(&shape, values)?;
            parameters.push((format!("{}.lora_{kind}", place.ours), tensor));
        }
        spec.0.push((place.ours, place.parts));
    }
    Ok((model.with_adapter_of(&spec, parameters)?, notes))
}

/// A matrix of ours that gets a pair.
struct Place {
    ours: String,
    inputs: usize,
    parts: Vec<Part>,
    thin: Vec<Thin>,
}

impl Place {
    /// Shapes of A and B.
    fn shapes(&self) -> [[usize; 2]; 2] {
        let sum = |of: fn(&Part) -> usize| self.parts.iter().map(of).sum();
        let most = self.parts.iter().map(|part| part.rank).max().unwrap_or(0);
        [[self.inputs, sum(|part| part.rank)], [most, sum(|part| part.columns)]]
    }
}

/// The matrices of the blocks that get a pair.
fn places(
    model: &TinyGPT,
    settings: &Settings,
    contents: &Contents<impl Read>,
) -> Result<Vec<Place>> {
    let family = check_model(model)?;
    let names = family.names(model.config(), &model.attention().spec());
    let there: HashSet<&str> = contents.rows.iter().map(|row| row.name.as_str()).collect();
    let (mut places, mut modules) = (Vec::new(), Vec::new());
    for (ours, p) in model.parameters() {
        let block = ours.strip_prefix("blocks.").and_then(|rest| rest.split('.').next());
        let (Some(layer), &[inputs, _]) = (block.and_then(|i| i.parse().ok()), p.shape()) else {
            continue;
        };
        let part = |source: &Source| {
            let own = module(&source.name);
            modules.push(own.to_string());
            let is_there = (0..2).any(|kind| there.contains(&*tensor(&source.name, kind)));
            let (rank, scale) = match settings.takes(own, layer, is_there) {
                true => settings.of(own)?,
                false => (0, 0.0),
            };
            Ok(Part { columns: source.columns.len(), rank, scale })
        };
        let sources = names.sources(&ours, p.shape(), names.prefix())?;
        let (parts, thin) = incoming(sources, inputs, part)?;
        if !thin.is_empty() {
            places.push(Place { ours, inputs, parts, thin });
        }
    }
    settings.check(&modules)?;
    match places.is_empty() {
        true => refuse(message!("no matrix of a block has an adapter")),
        false => Ok(places),
    }
}

/// Refuses weights of another hash.
fn check_base(learned_on: &str, found: &str) -> Result<()> {
    if learned_on == found {
        return Ok(());
    }
    let first = |hash: &str| shown(hash.get(..16).unwrap_or(hash)).to_string();
    refuse(message!(
        "it learned on weights with BLAKE3 {}, those of the base have {}",
        first(learned_on),
        first(found)
    ))
}
