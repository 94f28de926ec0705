//! config.json: every field that changes what a model computes, read and written. What is GPT-2's is
//! here, what is of Llama's kin in `llama`.

use super::family::Family;
pub use super::fields::ConfigJson;
use super::fields::{Fields, decimal, unsupported};
use super::llama;
use crate::error::Result;
use crate::files::json_object;
use crate::holder::GPT2;
use crate::imported::{Note, several, with_inner};
use llm_core::Config;
use llm_core::model::Activation;
use serde_json::{Value, json};

/// Most bytes of config.json.
pub const MAX_LENGTH: u64 = 1 << 20;

/// Reads config.json. A field that is not there has the value that `transformers` gives it.
///
/// # Errors
/// [`FormatError::Content`](crate::error::FormatError::Content) naming the field, its value and what is supported.
pub fn parse(text: &[u8]) -> Result<ConfigJson> {
    let fields = json_object(text)?;
    let fields = Fields(&fields);
    let model_type = fields.text("model_type", Family::Gpt2.model_type())?;
    let Some(family) = Family::of(model_type) else {
        let known = Family::ALL.map(Family::model_type).join(", ");
        return Err(unsupported("model_type", &json!(model_type), known));
    };
    fields.architecture(&family.classes())?;
    fields.unset(&["quantization_config", "pruned_heads", "auto_map"])?;
    fields.unset(&["attn_logit_softcapping", "final_logit_softcapping"])?;
    match family {
        Family::Gpt2 => gpt2(fields),
        Family::Llama | Family::Mistral | Family::Qwen2 | Family::Qwen3 => {
            llama::parse(fields, family)
        }
    }
}

fn gpt2(fields: Fields<'_>) -> Result<ConfigJson> {
    let d_model = fields.size("n_embd", 768)?;
    let inner = fields.size_or_null("n_inner")?.unwrap_or(0);
    let activation = match fields.text("activation_function", "gelu_new")? {
        "gelu_new" | "gelu_pytorch_tanh" => Activation::GeluTanh, // two names of one function
        "gelu" => Activation::Gelu,
        other => {
            let supported = "gelu_new, gelu_pytorch_tanh, gelu";
            return Err(unsupported("activation_function", &json!(other), supported));
        }
    };
    for (field, usual) in [
        ("scale_attn_weights", true),
        ("scale_attn_by_inverse_layer_idx", false),
        ("add_cross_attention", false),
    ] {
        if fields.flag(field, usual)? != usual {
            return Err(unsupported(field, &json!(!usual), usual));
        }
    }
    let (dropout, notes) = dropout(fields)?;
    let (vocab_size, context) =
        (fields.size("vocab_size", 50257)?, fields.size("n_positions", 1024)?);
    let config = Config {
        norm_eps: fields.eps("layer_norm_epsilon", 1e-5)?,
        tied_head: fields.flag("tie_word_embeddings", true)?,
        dropout,
        activation,
        ..GPT2.config(vocab_size, context, [d_model, fields.size("n_layer", 12)?])
    };
    let config = with_inner(config, inner);
    let attention = several(fields.size("n_head", 12)?);
    Ok(ConfigJson { family: Family::Gpt2, config, attention, ends: Vec::new(), notes })
}

/// The three probabilities as our one.
fn dropout(fields: Fields<'_>) -> Result<(f32, Vec<Note>)> {
    let [embd, attn, resid] = ["embd_pdrop", "attn_pdrop", "resid_pdrop"];
    let [embd, attn, resid] =
        [fields.dropout(embd, 0.1)?, fields.dropout(attn, 0.1)?, fields.dropout(resid, 0.1)?];
    if embd == attn && attn == resid {
        return Ok((embd as f32, Vec::new()));
    }
    Ok((0.0, vec![Note::UnequalDropouts { embd, attn, resid }]))
}

/// Writes config.json of a GPT-2 with `n_heads`; `end` is the token that ends a text.
pub fn write(config: &Config, n_heads: usize, end: Option<u32>) -> Value {
    json!({
        "activation_function": match config.activation {
            Activation::GeluTanh => "gelu_new",
            Activation::Gelu => "gelu",
        },
        "add_cross_attention": false,
        "architectures": [Family::Gpt2.classes()[0]],
        "attn_pdrop": config.dropout,
        "bos_token_id": end,
        "dtype": "float32",
        "embd_pdrop": config.dropout,
        "eos_token_id": end,
        "initializer_range": 0.02,
        "layer_norm_epsilon": decimal(config.norm_eps),
        "model_type": Family::Gpt2.model_type(),
        "n_ctx": config.seq_len, // an older name of n_positions, which llama.cpp's converter reads
        "n_embd": config.d_model,
        "n_head": n_heads,
        "n_inner": (config.n_inner != 0).then_some(config.n_inner),
        "n_layer": config.n_layers,
        "n_positions": config.seq_len,
        "pad_token_id": null,
        "reorder_and_upcast_attn": false,
        "resid_pdrop": config.dropout,
        "scale_attn_by_inverse_layer_idx": false,
        "scale_attn_weights": true,
        "tie_word_embeddings": config.tied_head,
        "use_cache": true,
        "vocab_size": config.vocab_size,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::FormatError;

    fn read(value: Value) -> Result<ConfigJson, String> {
        parse(value.to_string().as_bytes()).map_err(|e| match e {
            FormatError::Content(why) => why.to_string(),
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn what_is_written_is_read_again() {
        for (tied_head, dropout) in [(true, 0.0), (false, 0.25)] {
            let config = Config { tied_head, dropout, ..Config::gpt2(300, 64, 32, 3) };
            // One of both has an MLP of its own kind.
            let config = match tied_head {
                true => config,
                false => {
                    Config { activation: Activation::Gelu, n_inner: 100, norm_eps: 1e-6, ..config }
                }
            };
            let settings = ConfigJson {
                family: Family::Gpt2,
                config: config.clone(),
                attention: several(4),
                ends: Vec::new(),
                notes: Vec::new(),
            };
            let written = write(&config, 4, None);
            assert_eq!(written["n_ctx"], written["n_positions"]);
            assert_eq!(read(written).unwrap(), settings);
        }
    }

    #[test]
    fn what_is_not_said_is_gpt2() {
        let settings = read(json!({})).unwrap();
        let config = Config { dropout: 0.1, ..Config::gpt2(50257, 1024, 768, 12) };
        assert_eq!((settings.config, settings.attention), (config, several(12)));
        let named = json!({"activation_function": "gelu_pytorch_tanh", "n_inner": 3072,
            "reorder_and_upcast_attn": true, "pruned_heads": {}, "architectures": ["GPT2Model"]});
        assert!(read(named).is_ok());
    }

    #[test]
    fn what_would_compute_something_else_is_refused_by_its_name() {
        for (field, value) in [
            ("model_type", json!("mamba")),
            ("model_type", json!(3)),
            ("architectures", json!(["GPT2ForSequenceClassification"])),
            ("architectures", json!("GPT2LMHeadModel")),
            ("activation_function", json!("relu")),
            ("activation_function", json!(null)),
            ("n_embd", json!("768")),
            ("n_embd", json!(-1)),
            ("n_embd", json!(7.5)),
            ("n_head", json!(0)),
            ("n_layer", json!(null)),
            ("n_positions", json!(1e30)),
            ("vocab_size", json!([])),
            ("n_inner", json!(0)),
            ("n_inner", json!("100")),
            ("layer_norm_epsilon", json!(0.0)),
            ("layer_norm_epsilon", json!("1e-5")),
            ("scale_attn_weights", json!(false)),
            ("scale_attn_by_inverse_layer_idx", json!(true)),
            ("add_cross_attention", json!(true)),
            ("tie_word_embeddings", json!(1)),
            ("resid_pdrop", json!(1.0)),
            ("attn_pdrop", json!(-0.1)),
            ("quantization_config", json!({"bits": 4})),
            ("pruned_heads", json!({"0": [1]})),
        ] {
            let refused = read(json!({ field: value })).unwrap_err();
            assert!(refused.contains(field), "{refused}");
        }
        for text in [&b""[..], b"[]", b"{", b"\xff", b"{\"n_embd\": nan}"] {
            assert!(matches!(parse(text), Err(FormatError::Content(_))));
        }
    }

    #[test]
    fn unequal_dropouts_are_left_out_and_that_is_said() {
        let settings = read(json!({"attn_pdrop": 0.2})).unwrap();
        assert_eq!(settings.config.dropout, 0.0);
        let note = Note::UnequalDropouts { embd: 0.1, attn: 0.2, resid: 0.1 };
        assert_eq!(settings.notes, [note]);
        assert!(note.to_string().ends_with("training goes on without dropout"), "{note}");
    }
}
