//! adapter_config.json, read: ranks and scales by module. What would make something else of the tensors than
//! W + s·B·A is refused by its key.

use super::super::fields::{Fields, numbers, unsupported, whole};
use crate::error::{FormatError, Result, refuse, shown};
use llm_core::message;
use llm_core::model::AdapterSpec;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Keys that mean nothing for what is read, whatever they say: where the base was, how training went, and how
/// their own layers lie in memory.
const IDLE: [&str; 12] = [
    "auto_mapping",
    "base_model_name_or_path",
    "eva_config",
    "fan_in_fan_out",
    "inference_mode",
    "layers_pattern",
    "lora_dropout",
    "megatron_core",
    "peft_version",
    "qalora_group_size",
    "revision",
    "task_type",
];
/// Keys that are read.
const READ: [&str; 11] = [
    "alpha_pattern",
    "bias",
    "exclude_modules",
    "init_lora_weights",
    "layers_to_transform",
    "lora_alpha",
    "peft_type",
    "r",
    "rank_pattern",
    "target_modules",
    "use_rslora",
];
/// Ways to start that leave the base as it is.
const STARTS: [&str; 3] = ["eva", "gaussian", "orthogonal"];

/// What adapter_config.json says.
pub(super) struct Settings {
    rank: usize,
    alpha: f64,
    ranks: Map<String, Value>,
    alphas: Map<String, Value>,
    root: bool,
    /// Modules by the ends of their names; none where the tensors alone say which.
    targets: Option<BTreeSet<String>>,
    layers: Vec<u64>,
    /// Whether some of the targets are left out.
    excludes: bool,
}

impl Settings {
    /// Checks all of it.
    pub(super) fn parse(fields: &Map<String, Value>) -> Result<Settings> {
        let of = Fields(fields);
        let word = |field: &str, usual: &'static str| match of.get(field) {
            None => Ok(()),
            Some(value) if value.as_str() == Some(usual) => Ok(()),
            Some(value) => Err(unsupported(field, value, usual)),
        };
        if of.get("peft_type").is_none() {
            return refuse(message!("peft_type is missing: no adapter_config.json of peft's"));
        }
        word("peft_type", "LORA")?;
        word("bias", "none")?;
        let is_empty = |value: &Value| match value {
            Value::Array(all) => all.is_empty(),
            Value::Object(all) => all.is_empty(),
            other => other.is_null() || *other == json!(false),
        };
        let known = |key: &String| IDLE.contains(&key.as_str()) || READ.contains(&key.as_str());
        let other = fields.iter().find(|(key, value)| !known(key) && !is_empty(value));
        if let Some((key, _)) = other {
            return refuse(message!("{} is set, which is not supported", shown(key)));
        }
        let is_start = |value: &Value| {
            value.is_boolean() || value.as_str().is_some_and(|word| STARTS.contains(&word))
        };
        if let Some(value) = of.get("init_lora_weights").filter(|value| !is_start(value)) {
            let supported = message!("true, false, {}", STARTS.join(", "));
            return Err(unsupported("init_lora_weights", value, supported));
        }
        let rank = of.size("r", 8)?;
        let alpha = of.real("lora_alpha", 8.0)?;
        let pattern = |field: &str| match of.get(field) {
            None => Ok(Map::new()),
            Some(Value::Object(all)) => Ok(all.clone()),
            Some(other) => Err(unsupported(field, other, message!("values by module"))),
        };
        let (ranks, alphas) = (pattern("rank_pattern")?, pattern("alpha_pattern")?);
        for (field, pattern) in [("rank_pattern", &ranks), ("alpha_pattern", &alphas)] {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.".contains(c);
            if let Some(key) = pattern.keys().find(|key| !key.chars().all(is_plain)) {
                return refuse(message!(
                    "{} has the key '{}', a regular expression; only names are read",
                    field,
                    shown(key)
                ));
            }
        }
        let targets = match of.get("target_modules") {
            // A regular expression: every tensor is one of its modules.
            Some(Value::String(_)) => None,
            Some(Value::Array(all)) => {
                Some(all.iter().filter_map(|name| name.as_str().map(String::from)).collect())
            }
            other => {
                let found = other.unwrap_or(&Value::Null);
                return Err(unsupported("target_modules", found, message!("names of modules")));
            }
        };
        Ok(Settings {
            rank,
            alpha,
            ranks,
            alphas,
            root: of.flag("use_rslora", false)?,
            targets,
            layers: numbers(of.get("layers_to_transform")),
            excludes: of.get("exclude_modules").is_some(),
        })
    }

    /// Rank and s of a module.
    pub(super) fn of(&self, module: &str) -> Result<(usize, f32)> {
        let rank = match of_pattern("rank_pattern", &self.ranks, module)? {
            None => self.rank,
            Some(value) => whole("rank_pattern", value)?,
        };
        let alpha = match of_pattern("alpha_pattern", &self.alphas, module)? {
            None => self.alpha,
            Some(value) => value
                .as_f64()
                .ok_or_else(|| unsupported("alpha_pattern", value, message!("a number")))?,
        };
        if rank > AdapterSpec::MAX_RANK {
            let why = message!("a rank of {} is outside 1..={}", rank, AdapterSpec::MAX_RANK);
            return Err(FormatError::content(why));
        }
        let by = if self.root { (rank as f64).sqrt() } else { rank as f64 };
        Ok((rank, (alpha / by) as f32))
    }

    /// Whether a module of a block has a pair: where the file does not say it, whether its tensors are there.
    pub(super) fn takes(&self, module: &str, layer: usize, is_there: bool) -> bool {
        let Some(targets) = &self.targets else { return is_there };
        let named = targets.iter().any(|target| is_end(target, module));
        let layer = self.layers.is_empty() || self.layers.contains(&(layer as u64));
        named && layer && (is_there || !self.excludes)
    }

    /// Refuses a target that names no module: its tensors would not be missed.
    pub(super) fn check(&self, modules: &[String]) -> Result<()> {
        let targets = self.targets.iter().flatten();
        let is_known = |target: &&String| !modules.iter().any(|module| is_end(target, module));
        match targets.into_iter().find(is_known) {
            None => Ok(()),
            Some(other) => {
                refuse(message!("target_modules has '{}', no matrix of a block", shown(other)))
            }
        }
    }
}

/// Whether a module's name is this, or ends so behind a dot.
fn is_end(end: &str, module: &str) -> bool {
    module.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// The value of a pattern for a module. peft takes the first key that fits; here the keys that fit must have
/// one value.
fn of_pattern<'p>(
    field: &str,
    pattern: &'p Map<String, Value>,
    module: &str,
) -> Result<Option<&'p Value>> {
    let mut fit = pattern.iter().filter(|(key, _)| fits(key, module));
    let Some((one, value)) = fit.next() else { return Ok(None) };
    match fit.find(|(_, other)| *other != value) {
        None => Ok(Some(value)),
        Some((other, _)) => {
            refuse(message!("{}: '{}' and '{}' are one module", field, shown(one), shown(other)))
        }
    }
}

/// Whether a key, in which a dot stands for any character, is the end of a module's name.
fn fits(key: &str, module: &str) -> bool {
    let Some(at) = module.len().checked_sub(key.len()) else { return false };
    let Some(end) = module.get(at..) else { return false };
    let same = key.bytes().zip(end.bytes()).all(|(k, m)| k == b'.' || k == m);
    same && is_end(end, module)
}
