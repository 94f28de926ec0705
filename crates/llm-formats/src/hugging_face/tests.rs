//! Files of Hugging Face's that are not what they should be. Round trips are in the workspace's
//! tests, where there are several heads.

use super::*;
use crate::error::FormatError;
use crate::imported::Note;
use crate::tests::{Mend, file, mend, one_head};
use llm_core::model::{Activation, Mlp, Norm, Positions};
use llm_core::tokenizer::{ByteTokenizer, IdsTokenizer, Tokenizer};
use llm_core::{Config, Error, IoAction, TinyGPT};
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;

/// A folder with a model of one head; its tokens are numbers.
fn exported(config: Config) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let model = TinyGPT::new(config.clone(), 5).unwrap();
    export(folder.path(), &model, &IdsTokenizer::new(config.vocab_size).unwrap()).unwrap();
    folder
}

fn small() -> Config {
    Config::gpt2(9, 6, 4, 2)
}

fn refused(folder: &Path, what: Mend) -> String {
    let refused = import(folder, &one_head).map(drop).unwrap_err();
    assert_eq!(mend(&refused), what, "{refused}");
    refused.to_string()
}

/// The folder with its tensors' header changed; offsets stay.
fn with_header(config: Config, from: &str, to: &str) -> TempDir {
    let folder = exported(config);
    let path = folder.path().join(WEIGHTS);
    let bytes = std::fs::read(&path).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&bytes[8..8 + length]).unwrap();
    assert!(header.contains(from), "{header}");
    let header = header.replace(from, to);
    let changed = file(header.as_bytes(), &bytes[8 + length..]);
    std::fs::write(&path, changed).unwrap();
    folder
}

fn with_config(field: &str, value: Value) -> TempDir {
    let folder = exported(small());
    let path = folder.path().join(CONFIG);
    let mut config: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    config[field] = value;
    std::fs::write(path, config.to_string()).unwrap();
    folder
}

/// As `torch.compile` and `DataParallel` call them, and as `safetensors.torch.save_model` keeps one of
/// the two names of a tied table.
#[test]
fn other_names_of_the_same_weights_are_read() {
    let weights = |folder: &TempDir| {
        let (model, _) = import(folder.path(), &one_head).unwrap().into_model().unwrap();
        model.parameters().map(|(_, p)| p.data().to_vec()).collect::<Vec<_>>()
    };
    let ours = weights(&exported(small()));
    for (from, to) in [
        ("\"transformer.", "\"_orig_mod.transformer."),
        ("\"transformer.", "\"module._orig_mod.transformer."),
        ("transformer.wte.weight", "lm_head.weight"),
        ("\"transformer.", "\""),
    ] {
        assert_eq!(weights(&with_header(small(), from, to)), ours, "{to}");
    }
    // Some of them only.
    let some = with_header(small(), "transformer.wte.weight", "_orig_mod.wte.weight");
    assert!(import(some.path(), &one_head).is_err());
}

#[test]
fn what_is_exported_is_imported() {
    let folder = exported(small());
    let imported = import(folder.path(), &one_head).unwrap();
    assert_eq!(imported.config, small());
    assert_eq!(imported.tokenizer.name(), "ids");
    assert_eq!(imported.notes, [Note::NoTokenizer]);
    let names = ["model.safetensors", "config.json", "generation_config.json"];
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), names.len());
    assert!(names.iter().all(|name| folder.path().join(name).is_file()));
}

#[test]
fn an_mlp_of_another_kind_or_width_comes_along() {
    let narrow = Config { activation: Activation::Gelu, n_inner: 7, ..small() };
    let imported = import(exported(narrow.clone()).path(), &one_head).unwrap();
    assert_eq!(imported.config, narrow);
    let model = imported.into_model().unwrap().0;
    assert_eq!(
        (model.blocks[1].w_fc.shape(), model.blocks[1].w_out.shape()),
        (&[4, 7][..], &[7, 4][..])
    );
    // The usual width is the usual width, also where it is said.
    let imported = import(with_config("n_inner", json!(16)).path(), &one_head).unwrap();
    assert_eq!(imported.config, small());
    let line = refused(with_config("n_inner", json!(15)).path(), Mend::Content);
    assert!(line.contains("mlp.c_fc.weight is [4, 16], this model needs [4, 15]"), "{line}");
    let line = refused(with_config("n_inner", json!(1 << 20)).path(), Mend::Content);
    assert!(line.contains("n_inner: 1048576 is outside 0..=65536"), "{line}");
}

#[test]
fn tensors_that_do_not_fit_are_refused() {
    let ln = "transformer.h.1.ln_2.bias";
    for (from, to, needle) in [
        (ln, "transformer.h.1.ln_3.bias", "tensor transformer.h.1.ln_3.bias does not belong"),
        ("transformer.h.1.", "transformer.h.2.", "tensor transformer.h.2."),
        (ln, "transformer.h.1.attn.bias", "tensor transformer.h.1.ln_2.bias is missing"),
        ("transformer.wpe.weight", "wpe.weight", "tensor wpe.weight does not belong"),
        ("[9,4]", "[4,9]", "tensor transformer.wte.weight is [4, 9], this model needs [9, 4]"),
        (
            "\"dtype\":\"F32\",\"shape\":[9,4]",
            "\"dtype\":\"I32\",\"shape\":[9,4]",
            "is I32, only F32, F16 and BF16 are read",
        ),
    ] {
        let folder = with_header(small(), from, to);
        let line = refused(folder.path(), Mend::Content);
        assert!(line.contains(needle) && line.contains(WEIGHTS), "{line}");
    }
    let untied = Config { tied_head: false, ..small() };
    let folder = with_header(untied.clone(), "lm_head.weight", "transformer.h.0.attn.bias");
    assert!(refused(folder.path(), Mend::Content).contains("tensor lm_head.weight is missing"));
    // Names without the prefix, and masks, are fine.
    let folder = with_header(untied, "transformer.", "");
    assert!(import(folder.path(), &one_head).is_ok());
}

#[test]
fn a_tied_head_may_be_there_again_but_must_be_the_same() {
    for equal in [true, false] {
        let folder = exported(Config { tied_head: false, ..small() });
        let path = folder.path().join(CONFIG);
        let mut model = TinyGPT::new(Config { tied_head: false, ..small() }, 5).unwrap();
        if equal {
            let wte = model.wte.data().to_vec();
            let w_lm = model.w_lm.as_mut().unwrap().data_mut();
            for (i, x) in w_lm.iter_mut().enumerate() {
                *x = wte[(i % 9) * 4 + i / 9];
            }
        }
        export(folder.path(), &model, &IdsTokenizer::new(9).unwrap()).unwrap();
        std::fs::write(path, config::write(&small(), 1, None).to_string()).unwrap();
        match equal {
            true => assert!(import(folder.path(), &one_head).unwrap().config.tied_head),
            false => assert!(refused(folder.path(), Mend::Content).contains("tie_word_embeddings")),
        }
    }
}

#[test]
fn settings_that_do_not_fit_are_refused() {
    for (field, value, needle) in [
        ("n_head", json!(2), "multi-head attention with heads: 2, which cannot be made here"),
        ("n_embd", json!(8), "tensor transformer.wte.weight is [9, 4], this model needs [9, 8]"),
        ("n_layer", json!(3), "tensor transformer.h.2.ln_1.weight is missing"),
        ("n_layer", json!(1), "tensor transformer.h.1."),
        ("n_layer", json!(100_000), "n_layers"),
        ("vocab_size", json!(1u64 << 40), "vocab_size"),
        ("n_positions", json!(7), "tensor transformer.wpe.weight"),
        ("model_type", json!("\u{1b}[31m"), "model_type"),
        ("activation_function", json!("relu"), "activation_function"),
    ] {
        let folder = with_config(field, value);
        let line = refused(folder.path(), Mend::Content);
        assert!(line.contains(needle) && !line.contains(char::is_control), "{line}");
    }
    let folder = exported(small());
    std::fs::write(folder.path().join(CONFIG), vec![b' '; (1 << 20) + 1]).unwrap();
    assert!(refused(folder.path(), Mend::Content).contains("the limit is 1048576"));
}

#[test]
fn files_that_are_missing_are_named() {
    let folder = exported(small());
    let at = |name: &str| folder.path().join(name);
    assert!(refused(&at("nowhere"), Mend::Place).contains("not looked up"));
    assert!(refused(&at(CONFIG), Mend::Place).contains("not a folder"));
    std::fs::rename(at(WEIGHTS), at("pytorch_model.bin")).unwrap();
    assert!(refused(folder.path(), Mend::Place).contains("save_pretrained"));
    std::fs::rename(at("pytorch_model.bin"), at("pytorch_model.bin.index.json")).unwrap();
    assert!(refused(folder.path(), Mend::Place).contains("save_pretrained"));
    std::fs::rename(at("pytorch_model.bin.index.json"), at(INDEX)).unwrap();
    assert!(refused(folder.path(), Mend::Content).contains("no index of tensors"));
    std::fs::remove_file(at(INDEX)).unwrap();
    assert!(refused(folder.path(), Mend::Place).contains(WEIGHTS));
    std::fs::remove_file(at(CONFIG)).unwrap();
    assert!(refused(folder.path(), Mend::Place).contains(CONFIG));
}

#[test]
fn damage_is_found() {
    let folder = exported(small());
    let path = folder.path().join(WEIGHTS);
    let good = std::fs::read(&path).unwrap();
    for end in [0, 7, 8, 100, good.len() - 1] {
        std::fs::write(&path, &good[..end]).unwrap();
        refused(folder.path(), Mend::Content);
    }
    std::fs::write(&path, [&good[..], b"x"].concat()).unwrap();
    refused(folder.path(), Mend::Content);
    let mut nan = good.clone();
    let end = nan.len();
    nan[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    std::fs::write(&path, &nan).unwrap();
    assert!(refused(folder.path(), Mend::Content).contains("not finite"));
    let config = std::fs::read(folder.path().join(CONFIG)).unwrap();
    assert!(from_parts(&config, &good, &one_head).is_ok());
    assert!(matches!(from_parts(&config, &nan, &one_head), Err(FormatError::Content(_))));
}

#[test]
fn a_tokenizer_may_have_fewer_tokens_than_the_model_but_not_more() {
    let folder = tempfile::tempdir().unwrap();
    let model = TinyGPT::new(Config::gpt2(260, 6, 4, 1), 5).unwrap();
    let bytes: std::sync::Arc<dyn Tokenizer> = std::sync::Arc::new(ByteTokenizer);
    let padded = llm_core::tokenizer::PaddedTokenizer::pad(bytes, 260);
    export(folder.path(), &model, padded.as_ref()).unwrap();
    let imported = import(folder.path(), &one_head).unwrap();
    assert_eq!((imported.tokenizer.name(), imported.tokenizer.vocab_size()), ("byte", 260));
    assert_eq!(imported.notes, [Note::FewerTokens { tokens: 256, rows: 260 }]);
    let model = TinyGPT::new(Config::gpt2(9, 6, 4, 1), 5).unwrap();
    export(folder.path(), &model, &ByteTokenizer).unwrap();
    assert!(
        refused(folder.path(), Mend::Content).contains("256 tokens, the model has 9 (vocab_size)")
    );
}

#[test]
fn a_folder_with_something_in_it_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join("a/b");
    prepare_folder(&new).unwrap();
    prepare_folder(&new).unwrap();
    std::fs::write(new.join("file"), "").unwrap();
    for path in [&new, &new.join("file"), &new.join("file/c")] {
        let refused = prepare_folder(path).unwrap_err();
        assert!(matches!(refused, Error::Io { action: IoAction::Create, .. }), "{refused:?}");
    }
}

#[test]
fn a_head_bias_is_refused_unless_it_is_zero() {
    let mut model = TinyGPT::new(Config::new(9, 6, 4, 1), 5).unwrap();
    assert!(!has_head_bias(&model));
    model.b_lm.as_mut().unwrap().data_mut()[8] = 1e-9;
    assert!(has_head_bias(&model));
    let folder = tempfile::tempdir().unwrap();
    let refused = export(folder.path(), &model, &IdsTokenizer::new(9).unwrap()).unwrap_err();
    assert!(matches!(refused, FormatError::HeadBias), "{refused}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn pieces_that_gpt2_does_not_have_are_refused_by_their_names() {
    for (config, piece) in [
        (Config { norm: Norm::Rms, ..small() }, "root-mean-square norms (rms)"),
        (Config { mlp: Mlp::SwiGlu, ..small() }, "a gated MLP (swiglu)"),
        (Config { mlp: Mlp::Relu2, ..small() }, "an MLP with squared ReLU (relu2)"),
        (
            Config { positions: Positions::None, ..small() },
            "an order of tokens that nothing tells (none)",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let model = TinyGPT::new(config, 5).unwrap();
        let refused = export(folder.path(), &model, &IdsTokenizer::new(9).unwrap()).unwrap_err();
        assert_eq!(refused.to_string(), format!("it has {piece}, which GPT-2 cannot hold"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

/// An MLP without biases computes what one with biases of 0 does.
#[test]
fn an_mlp_without_biases_gets_biases_of_zero() {
    let config = Config { mlp_bias: false, ..small() };
    let model = TinyGPT::new(config.clone(), 5).unwrap();
    let (again, _) = import(exported(config).path(), &one_head).unwrap().into_model().unwrap();
    assert!(again.blocks.iter().all(|block| {
        let biases = [&block.b_fc, &block.b_out].map(|b| b.as_ref().unwrap());
        biases.iter().all(|b| b.data().iter().all(|&b| b == 0.0))
    }));
    let logits = |model: &TinyGPT| model.logits(&[1, 2, 8, 0], [1, 4]).unwrap();
    assert_eq!(logits(&model).data(), logits(&again).data());
}

#[test]
fn a_failed_export_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    // A folder where a file has to go.
    std::fs::create_dir(folder.path().join(GENERATION)).unwrap();
    let model = TinyGPT::new(small(), 5).unwrap();
    let failed = export(folder.path(), &model, &IdsTokenizer::new(9).unwrap()).unwrap_err();
    let at = folder.path().join(GENERATION);
    assert!(
        matches!(&failed, FormatError::Core(Error::Io { action: IoAction::Save, path, .. }) if *path == at),
        "{failed:?}"
    );
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

/// The tensors of an exported folder in two files with an index. Which of both a tensor goes to is
/// up to `second`, what the index says to `place`.
fn in_two_files(
    second: impl Fn(&str) -> bool,
    place: impl Fn(&str, usize) -> Option<String>,
) -> TempDir {
    let folder = exported(small());
    let bytes = std::fs::read(folder.path().join(WEIGHTS)).unwrap();
    let tensors = ::safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let mut map = serde_json::Map::new();
    for (part, name) in PARTS.into_iter().enumerate() {
        let all = tensors.iter().filter(|(name, _)| usize::from(second(name)) == part);
        let all: Vec<_> = all.collect();
        for (tensor, _) in &all {
            map.extend(place(tensor, part).map(|file| (tensor.to_string(), json!(file))));
        }
        let path = folder.path().join(name);
        ::safetensors::serialize_to_file(all, None, &path).unwrap();
    }
    let index = json!({"metadata": {"total_size": bytes.len()}, "weight_map": map});
    std::fs::write(folder.path().join(INDEX), index.to_string()).unwrap();
    std::fs::remove_file(folder.path().join(WEIGHTS)).unwrap();
    folder
}

const PARTS: [&str; 2] = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];

#[test]
fn a_model_in_several_files_is_the_same_model() {
    let of_part = |_: &str, part: usize| Some(PARTS[part].to_string());
    let later = |name: &str| name.contains("h.1.") || name.contains("wpe");
    let folder = in_two_files(later, of_part);
    let whole = import(exported(small()).path(), &one_head).unwrap().into_model().unwrap().0;
    let parts = import(folder.path(), &one_head).unwrap().into_model().unwrap().0;
    for ((name, a), (_, b)) in whole.parameters().zip(parts.parameters()) {
        assert_eq!(a.data(), b.data(), "{name}");
    }

    std::fs::remove_file(folder.path().join(PARTS[1])).unwrap();
    assert!(refused(folder.path(), Mend::Place).contains(PARTS[1]));
    let line = refused(in_two_files(later, |_, _| Some(PARTS[0].into())).path(), Mend::Content);
    assert!(line.contains(INDEX) && line.contains("is not in model-00001"), "{line}");
    let line =
        refused(in_two_files(later, |_, part| Some(PARTS[1 - part].into())).path(), Mend::Content);
    assert!(line.contains("is not where model.safetensors.index.json says"), "{line}");
    let unlisted = |name: &str, part: usize| of_part(name, part).filter(|_| !name.contains("wpe"));
    let line = refused(in_two_files(later, unlisted).path(), Mend::Content);
    assert!(line.contains("wpe.weight is not where"), "{line}");
    assert!(refused(in_two_files(later, |_, _| None).path(), Mend::Content).contains("no file"));
    let folder = in_two_files(later, of_part);
    std::fs::write(folder.path().join(PARTS[0]), "").unwrap();
    assert!(refused(folder.path(), Mend::Content).contains("too short"));
    // One whole file is taken before the parts.
    std::fs::write(folder.path().join(WEIGHTS), "").unwrap();
    assert!(
        refused(folder.path(), Mend::Content).contains("model.safetensors': the file is 0 bytes")
    );
}
