//! Writing a folder.

use super::super::{Family, check_model, export::pretty};
use super::{BASE, SETTINGS, TENSORS, hex, module, tensor};
use crate::error::{FormatError, Result};
use crate::pairs::{Outgoing, outgoing};
use crate::safetensors::{Data, Named, write};
use llm_core::base::replace_file;
use llm_core::{Error, IoAction, TinyGPT};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// Writes the model's adapter into the empty `folder`, adapter_config.json last. A failure leaves neither file.
///
/// # Errors
/// As [`check_model`]; [`FormatError::Content`] for a model without an adapter, [`FormatError::Core`] with what
/// the system says.
pub fn export(folder: &Path, model: &TinyGPT) -> Result<()> {
    let family = check_model(model)?;
    let names = family.names(model.config(), &model.attention().spec());
    let pairs = outgoing(model, &names)?;
    let settings = pretty(&settings(&pairs, family, model.config().n_layers));
    let mut tensors = Vec::new();
    for Outgoing { name, tensors: both, .. } in pairs {
        for (kind, (shape, fill)) in both.into_iter().enumerate() {
            tensors.push(Named { name: tensor(&name, kind), shape, data: Data::Rows(fill) });
        }
    }
    let base = model.base().map(|(blake3, _)| hex(blake3)).unwrap_or_default();
    let paths = [TENSORS, SETTINGS].map(|name| folder.join(name));
    let written = write(&paths[0], (BASE, &base), tensors).map_err(|e| (&paths[0], e));
    let written = written.and_then(|()| {
        replace_file(&paths[1], |out| out.write_all(&settings)).map_err(|e| (&paths[1], e))
    });
    written.map_err(|(path, source)| {
        paths.iter().for_each(|path| drop(std::fs::remove_file(path)));
        FormatError::Core(Error::io(IoAction::Save, path, source))
    })
}

/// adapter_config.json: what peft cannot do without, and what differs by module.
fn settings(pairs: &[Outgoing<'_>], family: Family, n_layers: usize) -> Value {
    let ranks: Vec<_> = pairs.iter().map(|pair| pair.part.rank).collect();
    let alpha = |pair: &Outgoing<'_>| f64::from(pair.part.scale) * pair.part.rank as f64;
    let alphas: Vec<_> = pairs.iter().map(alpha).collect();
    let (rank, alpha) = (usual(&ranks), usual(&alphas));
    let others = |all: &dyn Fn(usize) -> Option<Value>| -> Map<String, Value> {
        let each = pairs.iter().enumerate();
        each.filter_map(|(i, pair)| Some((module(&pair.name).into(), all(i)?))).collect()
    };
    let mut settings = json!({
        "base_model_name_or_path": null,
        "bias": "none",
        "fan_in_fan_out": family == Family::Gpt2,
        "inference_mode": true,
        "lora_alpha": number(alpha),
        "lora_dropout": 0.0,
        "peft_type": "LORA",
        "r": rank,
        "target_modules": targets(pairs, n_layers),
        "task_type": "CAUSAL_LM",
    });
    for (key, pattern) in [
        ("rank_pattern", others(&|i| (ranks[i] != rank).then(|| json!(ranks[i])))),
        ("alpha_pattern", others(&|i| (alphas[i] != alpha).then(|| number(alphas[i])))),
    ] {
        if !pattern.is_empty() {
            settings[key] = pattern.into();
        }
    }
    settings
}

/// A whole number where it is one, as peft has it.
fn number(x: f64) -> Value {
    if x == x.trunc() && x.abs() < 1e9 { json!(x as i64) } else { json!(x) }
}

/// The value that most of them have.
fn usual<T: Copy + Default + PartialEq>(all: &[T]) -> T {
    let times = |x: &&T| all.iter().filter(|y| y == x).count();
    all.iter().max_by_key(times).copied().unwrap_or_default()
}

/// The modules by the ends of their names, sorted, where that says it: every block has them; else by their whole
/// names.
fn targets(pairs: &[Outgoing<'_>], n_layers: usize) -> BTreeSet<String> {
    let end = |pair: &Outgoing<'_>| {
        let mut words = module(&pair.name).rsplitn(3, '.');
        let (last, before) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        // Of GPT-2's modules two are called so.
        if last == "c_proj" { format!("{before}.{last}") } else { last.into() }
    };
    let ends: BTreeSet<String> = pairs.iter().map(end).collect();
    match pairs.len() == ends.len() * n_layers {
        true => ends,
        false => pairs.iter().map(|pair| module(&pair.name).to_string()).collect(),
    }
}
