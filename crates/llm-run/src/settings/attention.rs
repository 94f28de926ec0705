//! The rows of an attention's own settings, and the attention that they make.

use super::given::{self, Given};
use super::row::{Setting, fixed, with_texts};
use crate::models::{Heads, Models};
use llm_core::model::{Positions, Rotary};
use llm_core::recipe::Recipe;
use llm_core::settings::Value;
use llm_core::{AttentionSpec, Config, Error, Result, message};

/// A setting of an attention, for models that offer it.
#[derive(Clone, Copy, Debug)]
pub struct AttentionRow {
    /// The setting. Its key is no key of core's: an attention keeps its settings by itself.
    pub setting: Setting,
    /// The value; none where it is left to other settings.
    pub get: Get,
    /// Takes a value that was given.
    pub put: fn(&mut AttentionSpec, &Value),
}

type Get = fn(&AttentionSpec) -> Option<Value>;

const fn row(key: &'static str, name: &'static str, get: Get) -> AttentionRow {
    AttentionRow { setting: fixed(key, name), get, put: |_, _| () }
}

impl AttentionRow {
    const fn put(self, put: fn(&mut AttentionSpec, &Value)) -> AttentionRow {
        AttentionRow { put, ..self }
    }

    const fn text(self, text: &'static str) -> AttentionRow {
        AttentionRow { setting: self.setting.text(text), ..self }
    }
}

impl Setting {
    /// A value that it may have, which shows its kind.
    pub fn example(&self) -> Value {
        let attention = AttentionSpec {
            kv_heads: Some(1),
            head_dim: Some(1),
            window: Some(1),
            soft_cap: Some(1.0),
            rotary: Some(Rotary { width: Some(1), ..Rotary::new(1.0) }),
            ..AttentionSpec::new("", 1)
        };
        let of_attention = ATTENTION.iter().find(|row| row.setting.key == self.key);
        match of_attention {
            Some(row) => (row.get)(&attention),
            None => self.value(&Config::new(1, 1, 1, 1), &Recipe::new([1, 1], 1, 1.0)),
        }
        .unwrap_or(Value::Bool(true))
    }
}

/// Every row, in the order of a help. The first one, the number of heads, has every program; of the
/// others those that its models [offer](crate::models::Models::options). How they are typed, where
/// that is more than their name, says `llm_cli::flags::spelled`, in the same order.
pub const ATTENTION: [AttentionRow; 9] = with_texts![
    /// Number of attention heads; must divide the width
    /// zh: 注意力头的个数；必须整除宽度
    row("attention.heads", "heads", |of| Some(Value::from(of.n_heads)))
        .put(|of, value| of.n_heads = whole(value).unwrap_or(1)),
    /// Heads of keys and values; must divide {heads}, 1 is multi-query [default: as many as of
    /// queries]
    /// zh: 键和值的头数，必须整除 {heads}；1 就是多查询 [默认：与查询的头数相同]
    row("attention.kv_heads", "kv_heads", |of| of.kv_heads.map(Value::from))
        .put(|of, value| of.kv_heads = whole(value)),
    /// Channels of a head [default: the width divided by {heads}]
    /// zh: 一个头的通道数 [默认：宽度除以 {heads}]
    row("attention.head_dim", "head_dim", |of| of.head_dim.map(Value::from))
        .put(|of, value| of.head_dim = whole(value)),
    /// Base of the angles of rotary positions [default: 10000]
    /// zh: 旋转位置的角度底数 [默认：10000]
    row("attention.rope_theta", "rope_theta", |of| of.rotary.map(|rotary| Value::Double(rotary.theta)))
        .put(|of, value| rotary(of).theta = number(value).unwrap_or(THETA)),
    /// Channels of a head that rotary positions turn, an even number [default: all]
    /// zh: 一个头里由旋转位置转动的通道数，必须是偶数 [默认：全部]
    row("attention.rotary_dim", "rotary_dim", |of| of.rotary.and_then(|rotary| rotary.width).map(Value::from))
        .put(|of, value| rotary(of).width = whole(value)),
    /// A position sees the last N, itself among them [default: all]
    /// zh: 一个位置看得见最后 N 个，包括自己 [默认：全部]
    row("attention.window", "window", |of| of.window.map(Value::from))
        .put(|of, value| of.window = whole(value)),
    /// No score of the attention is beyond C: s becomes C*tanh(s/C) [default: no cap]
    /// zh: 注意力的分数不超过 C：s 变成 C*tanh(s/C) [默认：没有上限]
    row("attention.soft_cap", "soft_cap", |of| of.soft_cap.map(Value::Double))
        .put(|of, value| of.soft_cap = number(value)),
    /// Queries and keys are normed, each head by itself
    /// zh: 查询和键先归一化，每个头各做各的
    row("attention.qk_norm", "qk_norm", |of| Some(Value::Bool(of.qk_norm)))
        .put(|of, value| of.qk_norm = *value == Value::Bool(true)),
    /// The projections of the attention add biases
    /// zh: 注意力的投影加偏置
    row("attention.bias", "attention_bias", |of| (of.biases[0] == of.biases[1]).then_some(Value::Bool(of.biases[0])))
        .put(|of, value| of.biases = [*value == Value::Bool(true); 2]),
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
pub fn attention_of(arch: AttentionSpec, config: &Config, given: &Given) -> Result<AttentionSpec> {
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

/// The number of heads that was given, else the program's own: the nearest one below that divides
/// the width, unless heads have a width of their own.
pub fn usual_heads(models: &Models, config: &Config, given: &Given) -> usize {
    match (models.heads, given::whole(given, "heads")) {
        (Heads::One { .. }, _) => 1,
        (Heads::Many { .. }, Some(heads)) => usize::try_from(heads).unwrap_or(usize::MAX),
        (Heads::Many { default }, None) if given.contains_key("head_dim") => default,
        (Heads::Many { default }, None) => largest_divisor(config.d_model, default),
    }
}

/// The largest number up to `default` that divides the width.
pub fn largest_divisor(d_model: usize, default: usize) -> usize {
    (1..=default).rev().find(|h| d_model.is_multiple_of(*h)).unwrap_or(1)
}
