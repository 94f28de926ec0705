//! Models of Llama and its kin as Hugging Face's transformers has them: what it computes with the same
//! weights, and the way out and in again.

use llm_core::generate::Decoder;
use llm_core::model::Mode;
use llm_core::tokenizer::IdsTokenizer;
use llm_core::{Attention, AttentionSpec, Batch, TinyGPT, no_grad};
use llm_formats::hugging_face::{self, CONFIG, WEIGHTS};
use llm_formats::safetensors::{Data, Named, write};
use llm_variant_modern::Modern;
use safetensors::SafeTensors;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use workspace_tests::fixture::Fixture;

const MODELS: [&str; 6] =
    ["hf_llama_plain", "hf_llama_slowed", "hf_llama_wide", "hf_mistral", "hf_qwen2", "hf_qwen3"];

fn from_spec(spec: &AttentionSpec) -> llm_core::Result<Arc<dyn Attention>> {
    Ok(Arc::new(Modern::from_spec(spec)?))
}

fn import(folder: &Path) -> TinyGPT {
    hugging_face::import(folder, &from_spec).unwrap().into_model().unwrap().0
}

/// The fixture as the folder that transformers would write.
fn folder(f: &Fixture) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let floats = |name: &String| -> Vec<f32> {
        f.values(&format!("param.{name}")).iter().map(|&x| x as f32).collect()
    };
    let tensors = f.names("param.").into_iter().map(|name| {
        let (shape, data) = (f.shape(&format!("param.{name}")).to_vec(), floats(&name));
        Named { name, shape, data: Data::Floats(data.into()) }
    });
    write(&folder.path().join(WEIGHTS), ("format", "pt"), tensors.collect()).unwrap();
    std::fs::write(folder.path().join(CONFIG), f.word("config")).unwrap();
    folder
}

/// Names, shapes and bytes of a folder's tensors.
fn tensors(folder: &Path) -> BTreeMap<String, (Vec<usize>, Vec<u8>)> {
    let bytes = std::fs::read(folder.join(WEIGHTS)).unwrap();
    let all = SafeTensors::deserialize(&bytes).unwrap();
    let entry = |(name, view): (String, safetensors::tensor::TensorView<'_>)| {
        (name, (view.shape().to_vec(), view.data().to_vec()))
    };
    all.tensors().into_iter().map(entry).collect()
}

fn export(model: &TinyGPT) -> tempfile::TempDir {
    let out = tempfile::tempdir().unwrap();
    let ids = IdsTokenizer::new(model.config().vocab_size).unwrap();
    hugging_face::export(out.path(), model, &ids).unwrap();
    out
}

/// |got − want| against the largest number of the whole.
fn assert_near(what: &str, got: &[f32], want: &[f64], tol: f64) {
    assert_eq!(got.len(), want.len(), "{what}");
    let most = want.iter().fold(1e-3, |most: f64, x| most.max(x.abs()));
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        let far = (f64::from(*got) - want).abs();
        assert!(far <= tol * most, "{what}[{i}]: {got} instead of {want}");
    }
}

/// The last two of the bounds are 1e-4 and 1e-5.
#[test]
fn logits_loss_gradients_and_text_are_those_of_transformers() {
    for name in MODELS {
        let f = Fixture::read(name);
        let model = import(folder(&f).path());
        let shape = [f.shape("tokens")[0], f.shape("tokens")[1]];
        let batch = Batch::new(f.tokens("tokens"), f.tokens("targets"), shape);
        let logits = no_grad(|| model.logits(&batch.inputs, shape)).unwrap();
        assert_near(&format!("{name} logits"), logits.data(), f.values("logits"), 1e-5);
        let loss = model.loss(&batch, Mode::Training).unwrap();
        assert_near(&format!("{name} loss"), loss.data(), f.values("loss"), 1e-5);

        // Gradients go where the weights go: as a model of their own they are exported.
        let grads = loss.backward().unwrap();
        let mut slopes = model.clone();
        for ((_, slope), (_, p)) in slopes.parameters_mut().zip(model.parameters()) {
            slope.data_mut().copy_from_slice(grads.get(p).unwrap());
        }
        let found = tensors(export(&slopes).path());
        assert!(found.keys().eq(&f.names("grad.")), "{name}: {:?}", found.keys());
        for (key, (_, bytes)) in found {
            let got: Vec<f32> =
                bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)).collect();
            let want = f.values(&format!("grad.{key}"));
            assert_near(&format!("{name} d{key}"), &got, want, 1e-5);
        }

        let mut decoder = Decoder::new(&model).unwrap();
        let mut next = f.tokens("prompt");
        let whole = no_grad(|| model.logits(&next, [1, next.len()])).unwrap();
        let last = &whole.data()[(next.len() - 1) * model.config().vocab_size..];
        let written = Decoder::new(&model).unwrap().feed(&next).unwrap().to_vec();
        let far = written.iter().zip(last).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(far < 1e-5, "{name}: {far}");
        for (i, want) in f.tokens("greedy").into_iter().enumerate() {
            let scores = decoder.feed(&next).unwrap();
            let best = (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap();
            assert_eq!(best as u32, want, "{name}: token {i} of the text");
            next = vec![want];
        }
    }
}

#[test]
fn what_comes_in_goes_out_as_it_was_and_comes_in_again() {
    for name in MODELS {
        let f = Fixture::read(name);
        let theirs = folder(&f);
        let model = import(theirs.path());
        let out = export(&model);
        assert!(tensors(theirs.path()) == tensors(out.path()), "{name}");
        let again = import(out.path());
        assert_eq!(again.config(), model.config(), "{name}");
        assert_eq!(again.attention().spec(), model.attention().spec(), "{name}");
        for ((ours, a), (_, b)) in model.parameters().zip(again.parameters()) {
            assert_eq!(a.data(), b.data(), "{name} {ours}");
        }
        let twice = export(&again);
        for file in [CONFIG, WEIGHTS] {
            let read = |folder: &Path| std::fs::read(folder.join(file)).unwrap();
            assert!(read(out.path()) == read(twice.path()), "{name} {file}");
        }
    }
}
