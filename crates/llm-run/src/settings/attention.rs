//! The rows of an attention's own settings, and the attention that they make.

use super::given::Given;
use super::row::{Setting, fixed};
use llm_core::model::{Positions, Rotary};
use llm_core::settings::Value;
use llm_core::{AttentionSpec, Config, Error, Result, message};

/// A setting of an attention, for models that offer it.
#[derive(Clone, Copy, Debug)]
pub struct AttentionRow {
    /// The setting. Its key is no key of core's: an attention keeps its settings by itself.
    pub setting: Setting,
    /// Its value; none where it is left to the others.
    pub get: fn(&AttentionSpec) -> Option<Value>,
    /// Sets it to a value that was given.
    pub put: fn(&mut AttentionSpec, &Value),
}

const fn row(
    key: &'static str,
    name: &'static str,
    get: fn(&AttentionSpec) -> Option<Value>,
    put: fn(&mut AttentionSpec, &Value),
) -> AttentionRow {
    AttentionRow { setting: fixed(key, name), get, put }
}

/// Every row, in the order of a help.
#[rustfmt::skip]
pub const ATTENTION: [AttentionRow; 8] = [
    row("attention.kv_heads", "kv_heads", |of| of.kv_heads.map(Value::from), |of, value| of.kv_heads = whole(value)),
    row("attention.head_dim", "head_dim", |of| of.head_dim.map(Value::from), |of, value| of.head_dim = whole(value)),
    row("attention.rope_theta", "rope_theta", |of| of.rotary.map(|rotary| Value::Double(rotary.theta)), |of, value| rotary(of).theta = number(value).unwrap_or(THETA)),
    row("attention.rotary_dim", "rotary_dim", |of| of.rotary.and_then(|rotary| rotary.width).map(Value::from), |of, value| rotary(of).width = whole(value)),
    row("attention.window", "window", |of| of.window.map(Value::from), |of, value| of.window = whole(value)),
    row("attention.soft_cap", "soft_cap", |of| of.soft_cap.map(Value::Double), |of, value| of.soft_cap = number(value)),
    row("attention.qk_norm", "qk_norm", |of| Some(Value::Bool(of.qk_norm)), |of, value| of.qk_norm = *value == Value::Bool(true)),
    row("attention.bias", "attention_bias", |of| (of.biases[0] == of.biases[1]).then_some(Value::Bool(of.biases[0])),
        |of, value| of.biases = [*value == Value::Bool(true); 2]),
];

/// θ where positions are rotary and nothing else is said.
const THETA: f64 = 10_000.0;

/// The rotary positions, which are there from now on.
fn rotary(of: &mut AttentionSpec) -> &mut Rotary {
    of.rotary.get_or_insert(Rotary::new(THETA))
}

/// What is larger than any number here is refused as such.
fn whole(value: &Value) -> Option<usize> {
    match value {
        Value::Whole(n) => Some(usize::try_from(*n).unwrap_or(usize::MAX)),
        _ => None,
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Double(x) => Some(*x),
        _ => None,
    }
}

/// The description of a new model's attention: what was given, and `arch`'s for the rest.
///
/// # Errors
/// [`Error::Config`] for a setting of rotary positions where positions are others. Whether an
/// attention fits the model is its own to say.
pub fn described_attention(
    arch: AttentionSpec,
    config: &Config,
    given: &Given,
) -> Result<AttentionSpec> {
    let mut attention = arch;
    if config.positions == Positions::Rotary {
        rotary(&mut attention);
    } else {
        attention.rotary = None;
        for field in ["rope_theta", "rotary_dim"] {
            if given.contains_key(field) {
                let reason = message!("nothing is turned without {positions} rotary");
                return Err(Error::config(field, reason));
            }
        }
    }
    for AttentionRow { setting, put, .. } in &ATTENTION {
        if let Some(value) = given.get(setting.name) {
            put(&mut attention, value);
        }
    }
    Ok(attention)
}
