//! Llama and its kin: what a config.json may say, and folders that are not what they should be. What
//! they compute is held against transformers in the workspace's tests.

use super::config::{ConfigJson, parse};
use super::*;
use crate::error::FormatError;
use crate::imported::Note;
use llm_core::model::{Mlp, Norm, Positions, Rotary, RotaryScaling};
use llm_core::tokenizer::IdsTokenizer;
use llm_core::{Attention, AttentionSpec, Config, TinyGPT};
use llm_variant_modern::Modern;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

fn modern(spec: &AttentionSpec) -> llm_core::Result<Arc<dyn Attention>> {
    Ok(Arc::new(Modern::from_spec(spec)?))
}

fn read(value: &Value) -> Result<ConfigJson, String> {
    parse(value.to_string().as_bytes()).map_err(|e| e.to_string())
}

fn of(value: &Value) -> AttentionSpec {
    read(value).unwrap().attention
}

fn theta(value: &Value) -> Option<f64> {
    of(value).rotary.map(|rotary| rotary.theta)
}

fn scaling(value: &Value) -> Option<RotaryScaling> {
    of(value).rotary.and_then(|rotary| rotary.scaling)
}

/// `value` with these fields in place of its own.
fn with(value: &Value, fields: &Value) -> Value {
    let mut all = value.as_object().cloned().unwrap();
    all.extend(fields.as_object().cloned().unwrap());
    Value::Object(all)
}

#[test]
fn what_is_not_said_is_as_transformers_has_it() {
    for (kind, heads, kv_heads, head_dim, inner, positions, window) in [
        ("llama", 32, 32, None, 11_008, 2048, None),
        ("mistral", 32, 8, None, 14_336, 65_536, Some(4096)),
        ("qwen2", 32, 32, None, 22_016, 32_768, None),
        ("qwen3", 32, 32, None, 22_016, 32_768, None), // of 128 channels, which 32 heads have anyway
    ] {
        let value = json!({ "model_type": kind });
        let (said, own) = (read(&value).unwrap(), of(&value));
        let found = (own.n_heads, own.kv_heads(), own.head_dim, own.window);
        assert_eq!(found, (heads, kv_heads, head_dim, window), "{kind}");
        let config = &said.config;
        assert_eq!((config.inner(), config.seq_len, config.d_model), (inner, positions, 4096));
        assert_eq!((config.norm, config.mlp, config.norm_eps), (Norm::Rms, Mlp::SwiGlu, 1e-6));
        assert_eq!((config.positions, config.tied_head), (Positions::Rotary, false));
        assert_eq!(own.rotary, Some(Rotary::new(10_000.0)));
        assert_eq!((own.qk_norm, own.biases[0]), (kind == "qwen3", kind == "qwen2"));
        assert_eq!((own.biases[1], config.mlp_bias, config.vocab_size > 0), (false, false, true));
        let long = Note::LongContext { said: 131_072 };
        assert_eq!(said.notes.contains(&long), kind == "mistral");
    }
    // Null is another thing than nothing.
    let nulls =
        json!({"model_type": "mistral", "num_key_value_heads": null, "sliding_window": null});
    assert_eq!((of(&nulls).kv_heads(), of(&nulls).window), (32, None));
}

#[test]
fn rotary_positions_are_said_in_two_ways() {
    let slowed = json!({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 8192});
    let expected = RotaryScaling { factor: 8.0, low: 1.0, high: 4.0, original: 8192 };
    let llama = json!({"model_type": "llama", "rope_theta": 500_000.0});
    for fields in [
        json!({ "rope_scaling": slowed }),
        json!({"rope_theta": null, "rope_parameters": with(&slowed, &json!({"rope_theta": 5e5}))}),
    ] {
        let value = with(&llama, &fields);
        assert_eq!((theta(&value), scaling(&value)), (Some(500_000.0), Some(expected)));
    }
    let plain = json!({"rope_parameters": {"rope_type": "default", "rope_theta": 7.0}});
    assert_eq!(theta(&with(&llama, &plain)), Some(7.0));
    let older = json!({"rope_scaling": {"type": "default"}});
    assert_eq!(scaling(&with(&llama, &older)), None);
}

#[test]
fn windows_are_for_all_layers_or_none() {
    let qwen = json!({"model_type": "qwen2", "num_hidden_layers": 3, "sliding_window": 7});
    for (fields, window) in [
        (json!({}), None),
        (json!({"use_sliding_window": true, "max_window_layers": 0}), Some(7)),
        (json!({"use_sliding_window": true, "max_window_layers": 3}), None),
        (json!({"use_sliding_window": true, "layer_types": ["sliding_attention"]}), Some(7)),
        (json!({"use_sliding_window": true, "layer_types": ["full_attention"]}), None),
        (json!({"layer_types": ["full_attention", "full_attention"]}), None),
    ] {
        assert_eq!(of(&with(&qwen, &fields)).window, window, "{fields}");
    }
}

#[test]
fn what_would_compute_something_else_is_refused_by_its_name() {
    for (kind, field, value) in [
        ("llama", "architectures", json!(["LlamaForSequenceClassification"])),
        ("llama", "architectures", json!(["MistralForCausalLM"])),
        ("llama", "hidden_act", json!("gelu")),
        ("llama", "hidden_act", json!(7)),
        ("llama", "hidden_size", json!(0)),
        ("llama", "head_dim", json!("64")),
        ("llama", "num_key_value_heads", json!(-1)),
        ("llama", "rms_norm_eps", json!(0.0)),
        ("llama", "rms_norm_eps", json!(2)),
        ("llama", "rope_theta", json!(1.0)),
        ("llama", "rope_theta", json!("1e4")),
        ("llama", "rope_interleaved", json!(true)),
        ("llama", "partial_rotary_factor", json!(0.5)),
        ("llama", "residual_multiplier", json!(0.22)),
        ("llama", "sliding_window", json!(4096)),
        ("llama", "attention_dropout", json!(1.0)),
        ("llama", "attn_logit_softcapping", json!(50.0)),
        ("llama", "quantization_config", json!({"bits": 4})),
        ("llama", "auto_map", json!({"AutoModel": "own.Model"})),
        ("mistral", "attention_bias", json!(true)),
        ("mistral", "layer_types", json!(["full_attention", "sliding_attention"])),
        ("qwen2", "mlp_bias", json!(true)),
        ("qwen3", "mlp_bias", json!(true)),
        ("qwen3", "layer_types", json!(["full_attention", "sliding_attention"])),
    ] {
        let refused = read(&json!({"model_type": kind, field: value})).unwrap_err();
        assert!(refused.contains(field), "{kind} {field}: {refused}");
    }
    let mixed = json!({"model_type": "qwen3", "use_sliding_window": true, "max_window_layers": 2});
    assert!(read(&mixed).unwrap_err().contains("max_window_layers is 2, supported: 0, or 32"));
    for (rope, needle) in [
        (json!({"rope_type": "yarn", "factor": 2.0}), "rope_type is \"yarn\", supported: default"),
        (json!({"type": "linear", "factor": 2.0}), "type is \"linear\""),
        (json!({"rope_type": "llama3", "factor": 2.0}), "llama3 without low_freq_factor"),
        (json!({"rope_type": "default", "factor": 2.0}), "rope_scaling has factor"),
        (json!({"rope_type": "default", "partial_rotary_factor": 0.5}), "partial_rotary_factor"),
        (json!([1]), "rope_scaling is [1]"),
    ] {
        let refused = read(&json!({"model_type": "llama", "rope_scaling": rope})).unwrap_err();
        assert!(refused.contains(needle), "{refused}");
    }
}

/// Dropout and several ends of a text are no reason to refuse a model, but are said.
#[test]
fn what_cannot_be_held_is_said() {
    let value = json!({"model_type": "llama", "attention_dropout": 0.25, "eos_token_id": [2, 7]});
    let said = read(&value).unwrap();
    assert_eq!((said.config.dropout, said.ends), (0.0, vec![2, 7]));
    assert_eq!(said.notes, [Note::AttentionDropout { dropout: 0.25 }]);
    assert!(said.notes[0].to_string().contains("attention_dropout is 0.25"));
}

fn small() -> Config {
    Config {
        norm: Norm::Rms,
        norm_eps: 1e-6,
        mlp: Mlp::SwiGlu,
        mlp_bias: false,
        positions: Positions::Rotary,
        n_inner: 5,
        ..Config::gpt2(9, 6, 4, 2)
    }
}

fn heads() -> Modern {
    Modern::grouped(2, 1).with_rotary(100.0).without_biases()
}

/// A folder with a model, whose tokens are numbers.
fn exported(config: &Config, attention: Modern) -> Result<TempDir, FormatError> {
    let folder = tempfile::tempdir().unwrap();
    let model = TinyGPT::with_attention(config.clone(), Arc::new(attention), 5).unwrap();
    let done = export(folder.path(), &model, &IdsTokenizer::new(config.vocab_size).unwrap());
    if done.is_err() {
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
    done.map(|()| folder)
}

fn class(folder: &Path) -> String {
    let text = std::fs::read(folder.join(CONFIG)).unwrap();
    let value: Value = serde_json::from_slice(&text).unwrap();
    value["architectures"][0].as_str().unwrap().to_string()
}

#[test]
fn a_model_goes_where_it_fits_and_comes_back() {
    let (base, biased) = (small(), Config { mlp_bias: true, ..small() });
    let none = |heads: Modern| heads.without_biases();
    for (config, attention, expected) in [
        (&base, heads(), "LlamaForCausalLM"),
        (&biased, heads(), "LlamaForCausalLM"),
        (&base, Modern::new(2).with_rotary(9.0), "LlamaForCausalLM"),
        (&base, heads().with_window(3), "MistralForCausalLM"),
        (&base, none(Modern::new(3).with_head_dim(2)).with_rotary(9.0), "MistralForCausalLM"),
        (&base, heads().with_biases(true, false), "Qwen2ForCausalLM"),
        (&base, heads().with_biases(true, false).with_window(2), "Qwen2ForCausalLM"),
        (&base, heads().with_qk_norm(), "Qwen3ForCausalLM"),
        (&base, heads().with_qk_norm().with_window(2).with_biases(true, true), "Qwen3ForCausalLM"),
    ] {
        let folder = exported(config, attention.clone()).unwrap();
        assert_eq!(class(folder.path()), expected);
        let again = import(folder.path(), &modern).unwrap();
        assert_eq!((&again.config, again.attention.spec()), (config, attention.spec()));
        let first = TinyGPT::with_attention(config.clone(), Arc::new(attention), 5).unwrap();
        for ((name, p), (_, q)) in first.parameters().zip(&again.parameters) {
            assert_eq!(p.data(), q.data(), "{name}");
        }
    }
}

/// Biases that theirs have and ours has not are zeros: the same function.
#[test]
fn biases_of_one_side_get_zeros_on_the_other() {
    let folder = exported(&small(), heads().with_biases(false, true)).unwrap();
    assert_eq!(class(folder.path()), "LlamaForCausalLM");
    let again = import(folder.path(), &modern).unwrap();
    let of = |name: &str| {
        let all = again.parameters.iter().filter(|(n, _)| n.ends_with(name));
        all.flat_map(|(_, p)| p.data().to_vec()).collect::<Vec<_>>()
    };
    assert_eq!(of(".b_qkv"), [0.0; 16]);
    assert_eq!(of(".b_proj").len(), 8);
}

#[test]
fn what_none_of_them_has_is_refused() {
    let rotary = || Modern::new(2).with_rotary(9.0);
    for (config, attention, piece) in [
        (Config { norm: Norm::Layer, ..small() }, rotary(), "layer norms (layer)"),
        (Config { mlp: Mlp::Relu2, ..small() }, rotary(), "squared ReLU (relu2)"),
        (Config { mlp: Mlp::Gelu, ..small() }, rotary(), "an MLP with GELU (gelu)"),
        (
            small(),
            Modern::grouped(1, 1).with_rotary(Rotary::partial(9.0, 2)),
            "turned in part (rotary.width)",
        ),
        (
            Config { mlp_bias: true, ..small() },
            heads().with_qk_norm(),
            "an MLP with biases and normed queries",
        ),
        (Config { mlp_bias: true, ..small() }, heads().with_window(2), "biases with a window"),
        (small(), Modern::new(3).with_head_dim(2).with_rotary(9.0), "do not divide the width"),
    ] {
        let refused = exported(&config, attention).map(drop).unwrap_err().to_string();
        assert!(refused.contains(piece) && refused.contains("Llama cannot hold"), "{refused}");
    }
    let none = Config { positions: Positions::None, ..Config::gpt2(9, 6, 4, 2) };
    let refused = exported(&none, Modern::grouped(2, 1)).map(drop).unwrap_err().to_string();
    assert!(refused.contains("that nothing tells (none), which GPT-2 cannot hold"), "{refused}");
}

fn with_config(fields: &Value) -> TempDir {
    let folder = exported(&small(), heads()).unwrap();
    let path = folder.path().join(CONFIG);
    let config: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    std::fs::write(path, with(&config, fields).to_string()).unwrap();
    folder
}

fn refused(folder: &Path) -> String {
    let line = import(folder, &modern).map(drop).unwrap_err().to_string();
    assert!(!line.contains(char::is_control), "{line}");
    line
}

#[test]
fn a_config_that_lies_is_found_out() {
    for (fields, needle) in [
        (json!({"num_attention_heads": 4, "head_dim": 1, "num_key_value_heads": 3}), "kv_heads"),
        (json!({"head_dim": 3}), "3 channels of a head of 3 cannot be turned"),
        (
            json!({"head_dim": 4}),
            "model.layers.0.self_attn.q_proj.weight is [4, 4], this model needs [8, 4]",
        ),
        (
            json!({"num_key_value_heads": 2}),
            "self_attn.k_proj.weight is [2, 4], this model needs [4, 4]",
        ),
        (
            json!({"intermediate_size": 6}),
            "mlp.gate_proj.weight is [5, 4], this model needs [6, 4]",
        ),
        (json!({"hidden_size": 8, "head_dim": 2}), "model.embed_tokens.weight is [9, 4]"),
        (
            json!({"num_hidden_layers": 3}),
            "tensor model.layers.2.input_layernorm.weight is missing",
        ),
        (json!({"num_hidden_layers": 1}), "tensor model.layers.1."),
        (json!({"attention_bias": true}), "self_attn.q_proj.bias is missing"),
        (json!({"tie_word_embeddings": false}), "tensor lm_head.weight is missing"),
        (
            json!({"model_type": "qwen3", "architectures": null}),
            "self_attn.q_norm.weight is missing",
        ),
        (json!({"num_attention_heads": 1u64 << 40}), "head"),
        (json!({"head_dim": 1u64 << 62}), "head"),
        (json!({"intermediate_size": u64::MAX}), "n_inner"),
        (json!({"vocab_size": 1u64 << 50}), "vocab_size"),
    ] {
        let line = refused(with_config(&fields).path());
        assert!(line.contains(needle), "{fields}: {line}");
    }
}

#[test]
fn a_program_without_this_attention_says_so() {
    let folder = exported(&small(), heads()).unwrap();
    let error = import(folder.path(), &crate::tests::one_head).map(drop).unwrap_err();
    let FormatError::File { error, .. } = error else { panic!("{error}") };
    assert!(matches!(*error, FormatError::Attention { spec, .. } if spec.name == Modern::NAME));
}
