//! Settings as keyword arguments: names, types and meaning are those of the rows.

use crate::words::{keyword, said};
use llm_core::recipe::{DataForm, DataSource, Recipe};
use llm_core::settings::Value;
use llm_core::{AttentionSpec, Config};
use llm_run::defaults::Start;
use llm_run::settings::{ATTENTION, Given, Initial, Setting, all_settings, settings};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

/// Keyword arguments that are no settings of the library.
const OTHERS: &str = "attention arch preset epochs tokenizer vocab_size val data_as end_of_text out device \
    eval_every save_every patience skip_spikes threads allow_data_change lora base";

/// Settings from keyword arguments.
///
/// # Errors
/// `TypeError` for one that there is not, naming the nearest, or of another type.
pub fn given(keywords: Option<&Bound<'_, PyDict>>, of: &str) -> PyResult<Given> {
    let mut given = Given::new();
    for (name, value) in keywords.into_iter().flatten() {
        let name: String = name.extract()?;
        let setting = all_settings().find(|setting| keyword(setting) == name);
        let setting = setting.ok_or_else(|| PyTypeError::new_err(unknown(&name, of)))?;
        if !value.is_none() {
            given.insert(setting.name, value_of(setting, &value)?);
        }
    }
    Ok(given)
}

fn value_of(setting: &Setting, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let kind = setting.example();
    let wrong = || {
        let name = keyword(setting);
        let shown = value.repr().map_or_else(|_| "that".into(), |shown| shown.to_string());
        PyTypeError::new_err(format!("{name}: expected {}, not {shown}", said(&kind.kind())))
    };
    // Python's `True` is a whole number, too: one that is no answer to how many.
    let is_bool = value.is_instance_of::<pyo3::types::PyBool>();
    Ok(match kind {
        Value::Bool(_) => Value::Bool(value.extract().map_err(|_| wrong())?),
        _ if is_bool => return Err(wrong()),
        Value::Whole(_) => {
            Value::Whole(value.extract().map_err(|_| match value.extract::<i128>() {
                Ok(n) => PyValueError::new_err(format!(
                    "{}: {n} is no whole number from 0 to 2^64 - 1",
                    keyword(setting)
                )),
                Err(_) => wrong(),
            })?)
        }
        Value::Float(_) => Value::Float(value.extract::<f64>().map_err(|_| wrong())? as f32),
        Value::Double(_) => Value::Double(value.extract().map_err(|_| wrong())?),
        Value::Text(_) if value.is_instance_of::<PyString>() => Value::Text(value.extract()?),
        // A list of numbers is written as a text.
        Value::Text(_) => {
            let numbers: Vec<u64> = value.extract().map_err(|_| match setting.name {
                "ngrams" => PyTypeError::new_err("ngrams: expected a list of whole numbers"),
                _ => wrong(),
            })?;
            let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            Value::Text(numbers.join(","))
        }
        Value::Bytes(_) | Value::Bits(_) => return Err(wrong()),
    })
}

/// What other libraries call our settings.
const ELSEWHERE: [(&str, &[&str]); 11] = [
    ("lr", &["learning_rate", "max_lr"]),
    ("d_model", &["n_embd", "hidden_size", "embed_dim", "width"]),
    ("n_layers", &["num_hidden_layers", "depth"]),
    ("n_inner", &["intermediate_size", "d_ff"]),
    ("heads", &["n_head", "n_heads", "num_attention_heads"]),
    ("kv_heads", &["num_key_value_heads", "n_kv_heads"]),
    ("seq_len", &["block_size", "context_length", "n_positions", "max_position_embeddings"]),
    ("batch_size", &["per_device_train_batch_size"]),
    ("accum", &["gradient_accumulation_steps", "grad_accum"]),
    ("steps", &["max_iters", "num_steps", "max_steps"]),
    ("clip", &["max_grad_norm", "grad_clip"]),
];

/// What is said about an unknown name.
fn unknown(name: &str, of: &str) -> String {
    if OTHERS.split(' ').any(|other| other == name) {
        return format!("{of}() does not take '{name}'");
    }
    if ["device_map", "map_location", "dtype", "torch_dtype"].contains(&name) {
        let why = "Trainer() takes device; numbers are float32";
        return format!("{of}() does not take '{name}': {why}");
    }
    let elsewhere = ELSEWHERE.iter().find(|(_, names)| names.contains(&name));
    let names = all_settings().map(keyword).chain(OTHERS.split(' '));
    let near = names.map(|known| (distance(name, known), known)).min();
    let near = near.filter(|(far, known)| 5 * far <= 2 * known.len().max(name.len()));
    match elsewhere.map(|(known, _)| *known).or(near.map(|(_, known)| known)) {
        Some(known) => format!("{of}() has no setting '{name}'; did you mean {known}?"),
        None => format!("{of}() has no setting '{name}'; traingpt.settings_help() lists all"),
    }
}

/// Letters to insert, delete or replace; a name within the other is near, as `layers` in `n_layers`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let short = a.len().min(b.len());
    if short > 2 && (a.contains(&b) || b.contains(&a)) {
        return 1;
    }
    strsim::levenshtein(&a, &b)
}

/// A value as Python has it.
pub fn to_python<'py>(value: &Value, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Bool(x) => x.into_pyobject(py)?.to_owned().into_any(),
        Value::Whole(x) => x.into_pyobject(py)?.into_any(),
        // The shortest number that reads back to the same f32, and not its f64 with a tail.
        Value::Float(x) => {
            x.to_string().parse::<f64>().unwrap_or(f64::from(*x)).into_pyobject(py)?.into_any()
        }
        Value::Double(x) => x.into_pyobject(py)?.into_any(),
        Value::Text(x) => x.into_pyobject(py)?.into_any(),
        Value::Bytes(_) | Value::Bits(_) => py.None().into_bound(py),
    })
}

/// Settings of a run by their keywords: those that `Trainer()` takes and that have an effect in it.
pub fn described<'py>(
    config: &Config,
    recipe: &Recipe,
    attention: &AttentionSpec,
    further: bool,
    into: &Bound<'py, PyDict>,
) -> PyResult<()> {
    let py = into.py();
    let of_chats = matches!(recipe.data, DataSource::Files { form: DataForm::Chats, .. });
    for setting in settings() {
        let is_further = llm_run::settings::ALL_OPTIONS.contains(&setting.name);
        let without_effect = !(setting.applies)(recipe) || (setting.name == "loss_on" && !of_chats);
        if without_effect || (is_further && !further) {
            continue;
        }
        if let Some(value) = setting.value(config, recipe) {
            into.set_item(keyword(setting), to_python(&value, py)?)?;
        }
    }
    for row in ATTENTION.iter().filter(|row| further || row.setting.name == "heads") {
        if let Some(value) = (row.get)(attention) {
            into.set_item(keyword(&row.setting), to_python(&value, py)?)?;
        }
    }
    Ok(())
}

/// Name, default and meaning of every setting, a line each.
pub fn help() -> String {
    let lines = all_settings().map(|setting| {
        let (text, stories) = (default(setting, Start::Text), default(setting, Start::Stories));
        let other = format!("; {stories} on the built-in stories");
        let other = if text == stories { "" } else { &other };
        format!("{:<15} {}  ({text}{other})", keyword(setting), doc(setting))
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn default(setting: &Setting, start: Start) -> String {
    let value = match setting.initial {
        Initial::By(of) => Some(of(start)),
        Initial::Follows(_) => return "follows from the others".into(),
        Initial::Core => setting.value(&Config::new(1, 1, 1, 1), &Recipe::new([1, 1], 1, 1.0)),
    };
    match value {
        None => "as the attention has it".into(),
        Some(Value::Bool(yes)) => if yes { "True" } else { "False" }.into(),
        Some(Value::Text(text)) => format!("'{text}'"),
        Some(other) => other.to_string(),
    }
}

/// What a setting is for, and which values it has where they are names.
fn doc(setting: &Setting) -> String {
    let [text, _] = setting.texts().map(|text| text.to_string());
    // What holds without it follows by itself.
    let text = text.split(" [default").next().unwrap_or_default();
    match setting.choices() {
        none if none.is_empty() => text.into(),
        names => format!("{text}: {}", names.join(" | ")),
    }
}
