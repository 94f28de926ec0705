//! Folders of peft's, read and written: what peft computes with an adapter is what is computed here, the same
//! after a way out and back, and what would be something else is refused by its name.

use crate::adapters::{base, batch, from_spec, near};
use llm_core::model::{AdapterSpec, Part};
use llm_core::tokenizer::IdsTokenizer;
use llm_core::{Tensor, TinyGPT, no_grad};
use llm_formats::Note;
use llm_formats::hugging_face::{self, peft};
use llm_formats::safetensors::{Data, Named, write};
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;
use workspace_tests::fixture::Fixture;

const ALL: [&str; 4] = ["lora_qwen3", "lora_root", "lora_patterns", "lora_gpt2"];

/// A fixture's adapter as peft saved it, but for `but` of its settings and one tensor more.
fn folder(f: &Fixture, but: &[(&str, Value)], more: Option<&str>) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut settings: Value = serde_json::from_str(f.word("adapter_config")).unwrap();
    for (key, value) in but {
        settings[*key] = value.clone();
    }
    std::fs::write(folder.path().join(peft::SETTINGS), settings.to_string()).unwrap();
    let named = |name: String, p: Tensor| Named {
        name,
        shape: p.shape().to_vec(),
        data: Data::Floats(p.data().to_vec().into()),
    };
    let names = f.names("final.").into_iter();
    let mut tensors: Vec<_> =
        names.map(|name| named(name.clone(), f.constant(&format!("final.{name}")))).collect();
    let more = more.map(|name| named(name.into(), Tensor::from_vec(&[1], vec![0.0]).unwrap()));
    tensors.extend(more);
    write(&folder.path().join(peft::TENSORS), ("format", "pt"), tensors).unwrap();
    folder
}

fn logits(f: &Fixture, model: &TinyGPT) -> Vec<f32> {
    let shape = [f.shape("tokens")[1], f.shape("tokens")[2]];
    no_grad(|| model.logits(&batch(f, 0).inputs, shape)).unwrap().data().to_vec()
}

fn refused(folder: &Path, model: TinyGPT) -> String {
    peft::import(folder, model).map(drop).unwrap_err().to_string()
}

#[test]
fn adapters_of_peft_compute_what_they_do_there() {
    for name in ALL {
        let f = Fixture::read(name);
        let (model, notes) = peft::import(folder(&f, &[], None).path(), base(&f)).unwrap();
        assert_eq!(notes, [Note::BaseUnproven], "{name}");
        let learned: usize =
            f.names("final.").iter().map(|of| f.values(&format!("final.{of}")).len()).sum();
        // Parts of one matrix that have other ranks leave some rows of B at 0.
        assert!(model.trained_count() >= learned as u64, "{name}");
        assert!(near(&logits(&f, &model), f.values("logits")), "{name}");
        assert!(near(&logits(&f, &model.merged()), f.values("logits")), "{name}");
    }
}

/// A model's adapter, its numbers drawn, one part of it of another scale, and one without.
fn drawn(f: &Fixture, seed: u64) -> TinyGPT {
    let model = base(f);
    let matrices = llm_formats::adapter::adapter_parts(model.config(), model.attention().as_ref());
    let part = |at: usize, (i, columns): (usize, usize)| Part {
        columns,
        rank: if (at, i) == (2, 0) { 0 } else { 1 + (at + i) % 3 },
        scale: [0.75, 1.0 / 3.0, 0.0, 2.5][(at + 2 * i) % 4],
    };
    let parts = |(at, (name, widths)): (usize, (String, Vec<usize>))| {
        let each = widths.into_iter().enumerate();
        (name, each.map(|one| part(at, one)).collect::<Vec<_>>())
    };
    let spec = matrices.into_iter().enumerate().map(parts);
    let spec = AdapterSpec(spec.filter(|(_, parts)| parts.iter().any(|p| p.rank > 0)).collect());
    let mut model = model.with_adapter(&spec, seed).unwrap();
    for (name, p) in model.trained_mut() {
        let parts = &spec.0.iter().find(|(of, _)| name.starts_with(&format!("{of}."))).unwrap().1;
        if name.ends_with(".lora_b") {
            let (mut first, width) = (0, p.shape()[1]);
            for part in parts {
                for (i, x) in p.data_mut().iter_mut().enumerate() {
                    let (row, column) = (i / width, i % width);
                    if row < part.rank && (first..first + part.columns).contains(&column) {
                        *x = ((7 * i + 3) % 11) as f32 - 5.0;
                    }
                }
                first += part.columns;
            }
        }
    }
    model
}

/// Whatever ranks and scales: names, shapes, numbers, and twice the same bytes.
#[test]
fn what_is_written_for_peft_is_read_as_it_was() {
    for name in ["lora_qwen3", "lora_gpt2"] {
        let f = Fixture::read(name);
        let model = drawn(&f, 3);
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for folder in [&one, &two] {
            peft::export(folder.path(), &model).unwrap();
        }
        for file in [peft::SETTINGS, peft::TENSORS] {
            let [a, b] = [&one, &two].map(|dir| std::fs::read(dir.path().join(file)).unwrap());
            assert!(a == b, "{name}: {file}");
        }
        let (again, notes) = peft::import(one.path(), base(&f)).unwrap();
        assert_eq!(notes, [], "{name}");
        assert_eq!(again.adapter(), model.adapter(), "{name}");
        for ((name, a), (_, b)) in again.trained().zip(model.trained()) {
            assert_eq!((a.shape(), a.data()), (b.shape(), b.data()), "{name}");
        }
        // Nothing shows it on the outside: other weights of the same shapes are told by their hash.
        let mut other = base(&f);
        other.wte.data_mut()[0] += 1.0;
        assert!(refused(one.path(), other).contains("it learned on weights with BLAKE3"));
    }
}

#[test]
fn the_settings_are_ten_and_sorted_and_patterns_only_where_they_are_needed() {
    let said = |folder: &TempDir| {
        let text = std::fs::read_to_string(folder.path().join(peft::SETTINGS)).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()
    };
    for (name, targets) in [
        (
            "lora_qwen3",
            json!(["down_proj", "gate_proj", "k_proj", "o_proj", "q_proj", "up_proj", "v_proj"]),
        ),
        ("lora_gpt2", json!(["attn.c_proj", "c_attn", "c_fc", "mlp.c_proj"])),
        ("lora_root", json!(["q_proj", "v_proj"])),
    ] {
        let f = Fixture::read(name);
        let (model, _) = peft::import(folder(&f, &[], None).path(), base(&f)).unwrap();
        let out = tempfile::tempdir().unwrap();
        peft::export(out.path(), &model).unwrap();
        let settings = said(&out);
        let keys: Vec<_> = settings.as_object().unwrap().keys().map(String::as_str).collect();
        let ten = [
            "base_model_name_or_path",
            "bias",
            "fan_in_fan_out",
            "inference_mode",
            "lora_alpha",
            "lora_dropout",
            "peft_type",
            "r",
            "target_modules",
            "task_type",
        ];
        assert_eq!(keys, ten, "{name}");
        assert_eq!(settings["target_modules"], targets, "{name}");
        assert_eq!(settings["fan_in_fan_out"], name == "lora_gpt2", "{name}");
    }
    let out = tempfile::tempdir().unwrap();
    peft::export(out.path(), &drawn(&Fixture::read("lora_qwen3"), 1)).unwrap();
    let settings = said(&out);
    assert!(settings["rank_pattern"].is_object() && settings["alpha_pattern"].is_object());
}

#[test]
fn what_peft_has_besides_is_refused_by_name() {
    let f = Fixture::read("lora_qwen3");
    for (key, value) in [
        ("use_dora", json!(true)),
        ("bias", json!("lora_only")),
        ("lora_bias", json!(true)),
        ("modules_to_save", json!(["lm_head"])),
        ("trainable_token_indices", json!([1])),
        ("layer_replication", json!([[0, 1]])),
        ("target_parameters", json!(["x"])),
        ("alora_invocation_tokens", json!([1])),
        ("init_lora_weights", json!("pissa")),
        ("init_lora_weights", json!("pissa_niter_4")),
        ("init_lora_weights", json!("olora")),
        ("init_lora_weights", json!("corda")),
        ("init_lora_weights", json!("loftq")),
        ("loftq_config", json!({"loftq_bits": 4})),
        ("peft_type", json!("LOHA")),
        ("peft_type", json!(null)),
        ("a_key_of_tomorrow", json!(1)),
        ("r", json!(0)),
        ("lora_alpha", json!("x")),
        ("rank_pattern", json!({"q_proj": 0.5})),
        ("alpha_pattern", json!({"q_proj": "x"})),
        ("alpha_pattern", json!({".*q_proj": 1})),
        ("alpha_pattern", json!({"q_proj": 1, "self_attn.q_proj": 2})),
        ("target_modules", json!(["q_proj", "lm_head"])),
        ("target_modules", json!(null)),
    ] {
        let said = refused(folder(&f, &[(key, value.clone())], None).path(), base(&f));
        assert!(said.contains(key) && !said.contains('\n'), "{key} {value}: {said}");
    }
    // Ranks that the tensors have not, tensors that nothing asks for, and such as are asked for and missing.
    let at = "base_model.model.model.layers.0.self_attn.q_proj";
    for (key, value, name) in [
        ("r", json!(3), "lora_A.weight is [2,"),
        ("target_modules", json!(["q_proj"]), "does not belong to this model"),
        ("layers_to_transform", json!([0]), "does not belong to this model"),
        ("layers_to_transform", json!(0), "does not belong to this model"),
        ("target_modules", json!([".*"]), "no matrix of a block"),
    ] {
        let said = refused(folder(&f, &[(key, value.clone())], None).path(), base(&f));
        assert!(said.contains(name), "{key} {value}: {said}");
    }
    for more in [
        format!("{at}.lora_magnitude_vector"),
        format!("{at}.base_layer.bias"),
        "base_model.model.model.embed_tokens.lora_embedding_A".into(),
    ] {
        let said = refused(folder(&f, &[], Some(&more)).path(), base(&f));
        assert!(said.contains(&more), "{said}");
    }
    let some = Fixture::read("lora_root");
    let all = [("target_modules", json!(["q_proj", "v_proj", "k_proj"]))];
    let said = refused(folder(&some, &all, None).path(), base(&some));
    assert!(said.contains("k_proj.lora_A.weight is missing"), "{said}");
    // A name of a regular expression says nothing that the tensors do not.
    let any = folder(&some, &[("target_modules", json!(".*_proj"))], None);
    assert!(peft::import(any.path(), base(&some)).is_ok());

    let pickle = folder(&f, &[], None);
    let [tensors, bin] = [peft::TENSORS, "adapter_model.bin"].map(|of| pickle.path().join(of));
    std::fs::rename(tensors, bin).unwrap();
    let said = refused(pickle.path(), base(&f));
    assert!(said.contains("adapter_model.bin") && said.contains("pickle"), "{said}");
    assert!(refused(tempfile::tempdir().unwrap().path(), base(&f)).contains(peft::SETTINGS));
    let plain = peft::export(tempfile::tempdir().unwrap().path(), &base(&f)).unwrap_err();
    assert_eq!(plain.to_string(), "it has no adapter");
}

/// A whole model never looks like an adapter, nor an adapter like a model.
#[test]
fn an_adapter_in_a_folder_is_no_model() {
    let f = Fixture::read("lora_gpt2");
    assert!(hugging_face::import(folder(&f, &[], None).path(), &from_spec).is_err());
    let whole = tempfile::tempdir().unwrap();
    let model = drawn(&f, 1);
    let tokenizer = IdsTokenizer::new(model.config().vocab_size).unwrap();
    hugging_face::export(whole.path(), &model, &tokenizer).unwrap();
    let again = hugging_face::import(whole.path(), &from_spec).unwrap().into_model().unwrap().0;
    assert_eq!(logits(&f, &again), logits(&f, &model.merged()));
}
