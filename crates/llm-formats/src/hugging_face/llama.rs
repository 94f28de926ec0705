//! config.json of Llama and its kin: Mistral, Qwen2, Qwen3. They differ in which biases there are, in
//! normed queries and keys, and in how a window is said.

use super::family::Family;
use super::fields::{ConfigJson, Fields, decimal, numbers, unsupported};
use super::rope;
use crate::error::Result;
use crate::holder::{Holder, LLAMA};
use crate::imported::{MODERN, Note, shortest, with_inner};
use llm_core::base::{Fill, Message};
use llm_core::{AttentionSpec, Config, TinyGPT, TokenId, message};
use serde_json::{Value, json};

/// Fields that would change what is computed, with the one value that they may have.
const NEUTRAL: [(&str, f64, &str); 6] = [
    ("partial_rotary_factor", 1.0, "1"),
    ("rope_interleaved", 0.0, "false"),
    ("embedding_multiplier", 1.0, "1"),
    ("attention_multiplier", 1.0, "1"),
    ("residual_multiplier", 1.0, "1"),
    ("logits_scaling", 1.0, "1"),
];

/// What `transformers` takes for fields that are not there: the vocabulary, the MLP's width, heads of keys,
/// their width, positions.
fn usual(family: Family) -> (usize, usize, Option<usize>, Option<usize>, usize) {
    match family {
        Family::Gpt2 | Family::Llama => (32_000, 11_008, None, None, 2048),
        Family::Mistral => (32_000, 14_336, Some(8), None, 131_072),
        Family::Qwen2 => (151_936, 22_016, Some(32), None, 32_768),
        Family::Qwen3 => (151_936, 22_016, Some(32), Some(128), 32_768),
    }
}

/// Reads the fields of one of them.
pub(super) fn parse(fields: Fields<'_>, family: Family) -> Result<ConfigJson> {
    for (field, neutral, supported) in NEUTRAL {
        let Some(value) = fields.get(field) else { continue };
        let number = value.as_f64().or(value.as_bool().map(|yes| f64::from(u8::from(yes))));
        if number != Some(neutral) {
            return Err(unsupported(field, value, supported));
        }
    }
    if fields.text("hidden_act", "silu")? != "silu" {
        return Err(unsupported("hidden_act", &fields.0["hidden_act"], "silu"));
    }
    let (vocab_size, inner, kv_heads, head_dim, positions) = usual(family);
    let (n_layers, n_heads) =
        (fields.size("num_hidden_layers", 32)?, fields.size("num_attention_heads", 32)?);
    let (d_model, inner) =
        (fields.size("hidden_size", 4096)?, fields.size("intermediate_size", inner)?);
    let said = fields.size("max_position_embeddings", positions)?;
    let kv_heads = fields.size_or("num_key_value_heads", kv_heads)?.unwrap_or(n_heads);
    let head_dim = fields.size_or("head_dim", head_dim)?;
    let (biases, mlp_bias) = biases(fields, family)?;
    let rotary = rope::parse(fields, said)?;
    let attention = AttentionSpec {
        kv_heads: (kv_heads != n_heads).then_some(kv_heads),
        head_dim,
        rotary: Some(rotary),
        window: window(fields, family, n_layers)?,
        qk_norm: family == Family::Qwen3,
        biases,
        ..AttentionSpec::new(MODERN, n_heads)
    };
    let attention = shortest(attention, d_model);
    let vocab_size = fields.size("vocab_size", vocab_size)?;
    let context = said.min(Config::MAX_SEQ);
    let config = Config {
        norm_eps: fields.eps("rms_norm_eps", 1e-6)?,
        tied_head: fields.flag("tie_word_embeddings", false)?,
        mlp_bias,
        ..LLAMA.config(vocab_size, context, [d_model, n_layers])
    };
    let config = with_inner(config, inner);
    let mut notes = Vec::new();
    notes.extend((said > Config::MAX_SEQ).then_some(Note::LongContext { said }));
    let dropout = fields.dropout("attention_dropout", 0.0)?;
    notes.extend((dropout != 0.0).then_some(Note::AttentionDropout { dropout }));
    let ends = numbers(fields.get("eos_token_id"));
    Ok(ConfigJson { family, config, attention, ends, notes })
}

/// Whether there are biases: of queries, keys and values; of the projection back; of the MLP.
fn biases(fields: Fields<'_>, family: Family) -> Result<([bool; 2], bool)> {
    let (attention, mlp) = match family {
        Family::Llama => (true, true),
        Family::Qwen3 => (true, false),
        Family::Gpt2 | Family::Mistral | Family::Qwen2 => (false, false),
    };
    let flag = |field: &str, settable: bool| match fields.flag(field, false)? {
        true if !settable => Err(unsupported(field, &json!(true), "false")),
        yes => Ok(yes),
    };
    let on = flag("attention_bias", attention)?;
    Ok(([on || family == Family::Qwen2, on], flag("mlp_bias", mlp)?))
}

/// Positions that a query sees, the same in every block.
fn window(fields: Fields<'_>, family: Family, n_layers: usize) -> Result<Option<usize>> {
    let kinds = fields.get("layer_types").and_then(Value::as_array);
    let all = |kind: &str| kinds.is_none_or(|kinds| kinds.iter().all(|k| k == kind));
    let mixed = |supported: &dyn Fill| {
        let kinds = fields.get("layer_types").unwrap_or(&Value::Null);
        Err(unsupported("layer_types", kinds, supported))
    };
    let size = |usual: usize| fields.size_or("sliding_window", Some(usual));
    let qwen = matches!(family, Family::Qwen2 | Family::Qwen3);
    if family == Family::Mistral {
        return if kinds.is_some() { mixed(&"null") } else { size(4096) };
    }
    if !qwen && fields.get("sliding_window").is_some() {
        return Err(unsupported("sliding_window", &fields.0["sliding_window"], "null"));
    }
    if !qwen || !fields.flag("use_sliding_window", false)? {
        return if all("full_attention") {
            Ok(None)
        } else {
            mixed(&message!("full_attention alone"))
        };
    }
    if kinds.is_some() {
        return match (all("full_attention"), all("sliding_attention")) {
            (_, true) => size(4096),
            (true, _) => Ok(None),
            _ => mixed(&message!("one kind for all layers")),
        };
    }
    let first = fields.get("max_window_layers").map_or(Some(28), Value::as_u64);
    match first {
        Some(0) => size(4096),
        Some(first) if first >= n_layers as u64 => Ok(None),
        _ => Err(unsupported(
            "max_window_layers",
            fields.get("max_window_layers").unwrap_or(&json!(28)),
            message!("0, or {} and more: one kind for all layers", n_layers),
        )),
    }
}

/// The gate of all of them together.
const HOLDER: Holder = Holder {
    attention: &[
        "kv_heads",
        "head_dim",
        "rotary.theta",
        "rotary.scaling.factor",
        "rotary.scaling.low",
        "rotary.scaling.high",
        "rotary.scaling.original",
        "window",
        "qk_norm",
        "qkv_bias",
        "proj_bias",
        "head_mask",
    ],
    ..LLAMA
};

/// The family that holds a model, or in words what of it none of them has.
pub(super) fn family(model: &TinyGPT) -> Result<Family, Message> {
    HOLDER.check(model)?;
    let (config, own) = (model.config(), model.attention().spec());
    let biases = (own.biases[0], own.biases[1], config.mlp_bias);
    let (plain, none) = (own.window.is_none(), biases == (false, false, false));
    let even = config.d_model.is_multiple_of(own.n_heads); // Llama asks for it
    match (own.qk_norm, biases) {
        (true, (_, _, false)) => Ok(Family::Qwen3),
        (true, _) => Err(message!("an MLP with biases and normed queries and keys (mlp_bias)")),
        (false, (true, false, false)) => Ok(Family::Qwen2),
        (false, _) if plain && even => Ok(Family::Llama),
        (false, _) if none => Ok(Family::Mistral),
        (false, _) if plain => Err(message!("biases with heads that do not divide the width")),
        (false, _) => Err(message!("biases with a window")),
    }
}

/// Writes config.json of one of them; `begin` and `end` are the tokens that begin and end a text.
pub(super) fn write(
    config: &Config,
    own: &AttentionSpec,
    family: Family,
    begin: Option<TokenId>,
    end: Option<TokenId>,
) -> Value {
    let mut all = json!({
        "architectures": [family.classes()[0]],
        "attention_dropout": 0.0,
        "bos_token_id": begin,
        "dtype": "float32",
        "eos_token_id": end,
        "head_dim": own.head_dim(config.d_model),
        "hidden_act": "silu",
        "hidden_size": config.d_model,
        "initializer_range": 0.02,
        "intermediate_size": config.inner(),
        "max_position_embeddings": config.seq_len,
        "model_type": family.model_type(),
        "num_attention_heads": own.n_heads,
        "num_hidden_layers": config.n_layers,
        "num_key_value_heads": own.kv_heads(),
        "pad_token_id": null,
        "rms_norm_eps": decimal(config.norm_eps),
        "rope_scaling": rope::write(own.rotary.and_then(|rotary| rotary.scaling)),
        "rope_theta": own.rotary.map(|rotary| rotary.theta),
        "tie_word_embeddings": config.tied_head,
        "use_cache": true,
        "vocab_size": config.vocab_size,
    });
    let (is_qwen, window) = (matches!(family, Family::Qwen2 | Family::Qwen3), own.window);
    if is_qwen {
        all["max_window_layers"] = json!(if window.is_some() { 0 } else { config.n_layers });
        all["use_sliding_window"] = json!(window.is_some());
    }
    if is_qwen || family == Family::Mistral {
        all["sliding_window"] = json!(window);
    }
    if matches!(family, Family::Llama | Family::Qwen3) {
        all["attention_bias"] = json!(own.biases.contains(&true));
    }
    if family == Family::Llama {
        all["mlp_bias"] = json!(config.mlp_bias);
    }
    all
}
