//! The rows of an attention's own settings, and the attention that they make.

use super::given::Given;
use super::row::Beside::Fixed;
use super::row::Kind::{Share, Switch, Whole};
use super::row::{Flag, row};
use crate::program::AttentionFlags;
use llm_core::model::Positions;
use llm_core::settings::Value;
use llm_core::{Config, Error, Result};

/// A setting of an attention that can be typed, where the program offers it.
#[derive(Clone, Copy, Debug)]
pub struct AttentionRow {
    /// What is typed. Its key is no key of core's: an attention keeps its settings by itself.
    pub flag: Flag,
    /// Its value; none where it is left to the others.
    pub get: fn(&AttentionFlags) -> Option<Value>,
    /// Sets it to a value that was typed.
    pub put: fn(&mut AttentionFlags, &Value),
}

/// Every row, in the order of the help.
#[rustfmt::skip]
pub const ATTENTION: [AttentionRow; 7] = [
    AttentionRow {
        flag: Flag { aliases: &["n-kv-heads"], ..fixed("attention.kv_heads", "kv-heads", "G", Whole, "Heads of keys and values; must divide --heads, 1 is multi-query [default: as many as of queries]") },
        get: |of| of.kv_heads.map(count), put: |of, value| of.kv_heads = whole(value),
    },
    AttentionRow {
        flag: fixed("attention.head_dim", "head-dim", "D", Whole, "Channels of a head [default: the width divided by --heads]"),
        get: |of| of.head_dim.map(count), put: |of, value| of.head_dim = whole(value),
    },
    AttentionRow {
        flag: fixed("attention.rope_theta", "rope-theta", "X", Share, "Base of the angles of rotary positions [default: 10000]"),
        get: |of| of.rope_theta.map(Value::Double), put: |of, value| of.rope_theta = number(value),
    },
    AttentionRow {
        flag: fixed("attention.rotary_dim", "rotary-dim", "N", Whole, "Channels of a head that rotary positions turn, an even number [default: all]"),
        get: |of| of.rotary_dim.map(count), put: |of, value| of.rotary_dim = whole(value),
    },
    AttentionRow {
        flag: Flag { aliases: &["sliding-window"], ..fixed("attention.window", "window", "N", Whole, "A position sees the last N, itself among them [default: all]") },
        get: |of| of.window.map(count), put: |of, value| of.window = whole(value),
    },
    AttentionRow {
        flag: fixed("attention.qk_norm", "qk-norm", "0|1", Switch, "Queries and keys are normed, each head by itself"),
        get: |of| Some(Value::Bool(of.qk_norm)), put: |of, value| of.qk_norm = *value == Value::Bool(true),
    },
    AttentionRow {
        flag: fixed("attention.bias", "attention-bias", "0|1", Switch, "The projections of the attention add biases"),
        get: |of| (of.biases[0] == of.biases[1]).then_some(Value::Bool(of.biases[0])),
        put: |of, value| of.biases = [*value == Value::Bool(true); 2],
    },
];

/// θ where positions are rotary and nothing else is said.
const THETA: f64 = 10_000.0;

const fn fixed(
    key: &'static str,
    name: &'static str,
    placeholder: &'static str,
    kind: super::row::Kind,
    help: &'static str,
) -> Flag {
    Flag { beside_load: Fixed, ..row(key, name, placeholder, kind, help) }
}

fn count(n: usize) -> Value {
    Value::Whole(n as u64)
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

/// The attention of a new model of these settings: what was given, and `arch`'s for the rest.
///
/// # Errors
/// [`Error::Config`] for a setting of rotary positions where positions are others. Whether an
/// attention fits the model is its own to say.
pub fn new_attention(
    arch: AttentionFlags,
    config: &Config,
    given: &Given,
) -> Result<AttentionFlags> {
    let mut attention = arch;
    if config.positions == Positions::Rotary {
        attention.rope_theta.get_or_insert(THETA);
    } else {
        (attention.rope_theta, attention.rotary_dim) = (None, None);
        for (flag, field) in [("rope-theta", "rope_theta"), ("rotary-dim", "rotary_dim")] {
            if given.contains_key(flag) {
                let reason = "nothing is turned without --positions rotary";
                return Err(Error::config(field, reason));
            }
        }
    }
    for AttentionRow { flag, put, .. } in &ATTENTION {
        if let Some(value) = given.get(flag.name) {
            put(&mut attention, value);
        }
    }
    Ok(attention)
}
