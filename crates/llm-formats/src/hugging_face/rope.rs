//! Rotary positions in a config.json: θ, and their scaling for longer texts. There are two ways to
//! write it, rope_theta with rope_scaling, and rope_parameters.

use super::fields::{Fields, unsupported};
use crate::error::{Result, refuse, shown};
use llm_core::message;
use llm_core::model::{Rotary, RotaryScaling};
use serde_json::{Map, Value, json};

/// The name of Llama 3's scaling.
const LLAMA3: &str = "llama3";

/// θ and its scaling; `positions` is the model's context.
pub(super) fn parse(fields: Fields<'_>, positions: usize) -> Result<Rotary> {
    let theta = |of: Fields<'_>| of.get("rope_theta").map(|_| of.real("rope_theta", 0.0));
    let outer = theta(fields).transpose()?.unwrap_or(10_000.0);
    let place = ["rope_scaling", "rope_parameters"].into_iter().find_map(|field| {
        let value = fields.get(field)?;
        Some((field, value))
    });
    let Some((field, value)) = place else { return Ok(Rotary::new(checked(outer)?)) };
    let Some(map) = value.as_object() else {
        return Err(unsupported(field, value, message!("an object")));
    };
    let inner = Fields(map);
    let theta = checked(theta(inner).transpose()?.unwrap_or(outer))?;
    let (name, kind) = match inner.get("rope_type") {
        Some(_) => ("rope_type", inner.text("rope_type", "default")?),
        None => ("type", inner.text("type", "default")?),
    };
    let known: &[&str] = match kind {
        "default" => &[],
        LLAMA3 => {
            &["factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"]
        }
        other => return Err(unsupported(name, &json!(other), "default, llama3")),
    };
    whole(field, map, known)?;
    if inner.real("partial_rotary_factor", 1.0)? != 1.0 {
        return Err(unsupported("partial_rotary_factor", &map["partial_rotary_factor"], "1"));
    }
    if kind != LLAMA3 {
        return Ok(Rotary::new(theta));
    }
    let needed = |name: &str| match inner.get(name) {
        Some(_) => inner.real(name, 0.0),
        None => refuse(message!("{} is {} without {}", field, LLAMA3, name)),
    };
    let scaling = RotaryScaling {
        factor: needed("factor")?,
        low: needed("low_freq_factor")?,
        high: needed("high_freq_factor")?,
        original: inner.size("original_max_position_embeddings", positions)?,
    };
    Ok(Rotary { scaling: Some(scaling), ..Rotary::new(theta) })
}

fn checked(theta: f64) -> Result<f64> {
    match theta > 1.0 && theta.is_finite() {
        true => Ok(theta),
        false => Err(unsupported("rope_theta", &json!(theta), message!("a number above 1"))),
    }
}

/// Refuses what is said besides.
fn whole(field: &str, map: &Map<String, Value>, known: &[&str]) -> Result<()> {
    const ALWAYS: [&str; 4] = ["rope_type", "type", "rope_theta", "partial_rotary_factor"];
    let other = |key: &&String| !ALWAYS.contains(&key.as_str()) && !known.contains(&key.as_str());
    match map.keys().find(other) {
        None => Ok(()),
        Some(key) => {
            let key = shown(key);
            refuse(message!("{} has {}, which is not supported", field, key))
        }
    }
}

/// The scaling as older and newer versions read it.
pub(super) fn write(scaling: Option<RotaryScaling>) -> Value {
    let Some(RotaryScaling { factor, low, high, original }) = scaling else { return Value::Null };
    json!({
        "factor": factor,
        "high_freq_factor": high,
        "low_freq_factor": low,
        "original_max_position_embeddings": original,
        "rope_type": LLAMA3,
    })
}
