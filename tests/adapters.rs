//! Adapters as peft trains them: the same numbers at the start, the same losses, the same model at the end.

use llm_core::model::{AdapterSpec, Mode};
use llm_core::optim::Optimizer;
use llm_core::{AdamW, Attention, AttentionSpec, Batch, Hyperparameters, Tensor, TinyGPT, no_grad};
use llm_formats::adapter::adapter_parts;
use llm_formats::hugging_face::{self, CONFIG, WEIGHTS};
use llm_formats::safetensors::{Data, Named, write};
use llm_variant_mha::MultiHead;
use llm_variant_modern::Modern;
use std::sync::Arc;
use workspace_tests::fixture::Fixture;

pub(crate) fn from_spec(spec: &AttentionSpec) -> llm_core::Result<Arc<dyn Attention>> {
    Ok(match spec.name.as_str() {
        "modern" => Arc::new(Modern::from_spec(spec)?),
        _ => Arc::new(MultiHead::from_spec(spec)?),
    })
}

/// The frozen model of a fixture.
pub(crate) fn base(f: &Fixture) -> TinyGPT {
    let folder = tempfile::tempdir().unwrap();
    let tensors = f.names("param.").into_iter().map(|name| {
        let p = f.constant(&format!("param.{name}"));
        Named { name, shape: p.shape().to_vec(), data: Data::Floats(p.data().to_vec().into()) }
    });
    write(&folder.path().join(WEIGHTS), ("format", "pt"), tensors.collect()).unwrap();
    std::fs::write(folder.path().join(CONFIG), f.word("config")).unwrap();
    hugging_face::import(folder.path(), &from_spec).unwrap().into_model().unwrap().0
}

/// Modules of peft's for the parts of a matrix of ours.
fn modules(ours: &str, is_gpt2: bool) -> Vec<String> {
    let [_, block, name] = ours.split('.').collect::<Vec<_>>()[..] else { panic!("{ours}") };
    let layers = if is_gpt2 { "transformer.h" } else { "model.layers" };
    let names: &[&str] = match (name, is_gpt2) {
        ("w_qkv", false) => &["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
        ("w_proj", false) => &["self_attn.o_proj"],
        ("w_fc", false) => &["mlp.gate_proj", "mlp.up_proj"],
        ("w_out", false) => &["mlp.down_proj"],
        ("w_qkv", true) => &["attn.c_attn"],
        ("w_proj", true) => &["attn.c_proj"],
        ("w_fc", true) => &["mlp.c_fc"],
        ("w_out", true) => &["mlp.c_proj"],
        _ => panic!("{ours}"),
    };
    names.iter().map(|name| format!("base_model.model.{layers}.{block}.{name}")).collect()
}

/// Puts `[rows, columns]`, turned, into columns of ours from `first` on.
fn put(ours: &mut [f32], width: usize, first: usize, theirs: &Tensor) {
    let [rows, columns] = theirs.shape()[..] else { panic!() };
    for (at, x) in theirs.data().iter().enumerate() {
        ours[(at % columns) * width + first + at / columns] = *x;
    }
    assert!(first + rows <= width);
}

/// The adapter with peft's numbers: those of A and B under these names, or B at 0.
fn adapted(f: &Fixture, with: &str) -> TinyGPT {
    let model = base(f);
    let is_gpt2 = f.has("param.transformer.wte.weight");
    let parts = adapter_parts(model.config(), model.attention().as_ref());
    let spec = AdapterSpec::uniform(parts.clone(), 2, f.meta("scale") as f32);
    let mut model = model.with_adapter(&spec, 1).unwrap();
    for (name, p) in model.trained_mut() {
        let (of, kind) = name.rsplit_once('.').unwrap();
        let kind = if kind == "lora_a" { "lora_A" } else { "lora_B" };
        let widths = &parts.iter().find(|(matrix, _)| matrix == of).unwrap().1;
        let (mut first, width) = (0, p.shape()[1]);
        for (module, columns) in modules(of, is_gpt2).iter().zip(widths) {
            let theirs = format!("{with}.{module}.{kind}.weight");
            if f.has(&theirs) {
                put(p.data_mut(), width, first, &f.constant(&theirs));
            }
            first += if kind == "lora_A" { 2 } else { *columns };
        }
    }
    model
}

pub(crate) fn batch(f: &Fixture, step: usize) -> Batch {
    let shape = [f.shape("tokens")[1], f.shape("tokens")[2]];
    let n = shape[0] * shape[1];
    let [tokens, targets] =
        ["tokens", "targets"].map(|of| f.tokens(of)[step * n..(step + 1) * n].to_vec());
    Batch::new(tokens, targets, shape)
}

/// |got − want| against the largest number of the whole.
pub(crate) fn near(got: &[f32], want: &[f64]) -> bool {
    let most = want.iter().fold(1e-3, |most: f64, x| most.max(x.abs()));
    got.len() == want.len()
        && got.iter().zip(want).all(|(a, b)| (f64::from(*a) - b).abs() <= 1e-5 * most)
}

#[test]
fn losses_and_what_is_learned_are_those_of_peft() {
    for name in ["lora_qwen3", "lora_gpt2"] {
        let f = Fixture::read(name);
        let mut model = adapted(&f, "start");
        let learned: usize =
            f.names("final.").iter().map(|of| f.values(&format!("final.{of}")).len()).sum();
        assert_eq!(model.trained_count(), learned as u64, "{name}");
        let config = Hyperparameters {
            beta1: 0.9,
            beta2: 0.95,
            weight_decay: 0.0,
            ..Hyperparameters::default()
        };
        let mut adamw = AdamW::new(config).unwrap();
        for (step, want) in f.values("losses").iter().enumerate() {
            let loss = model.loss(&batch(&f, step), Mode::Training).unwrap();
            assert!(near(loss.data(), &[*want]), "{name}, step {step}: {} {want}", loss.item());
            let grads = loss.backward().unwrap();
            adamw.step(&mut model.trained_mut(), &grads, 1e-2, 1.0).unwrap();
        }
        let peft = adapted(&f, "final");
        for ours in [model.clone(), peft, model.merged()] {
            let first = batch(&f, 0);
            let shape = [f.shape("tokens")[1], f.shape("tokens")[2]];
            let logits = no_grad(|| ours.logits(&first.inputs, shape)).unwrap();
            // Small gradients are divided by their own size: four steps of f32 part from f64.
            let want = f.values("logits");
            let far = logits.data().iter().zip(want).map(|(a, b)| (f64::from(*a) - b).abs());
            let far = far.fold(0.0, f64::max);
            let most = want.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            assert!(far < 1e-4 * most, "{name}: {far} of {most}");
        }
        let peft = adapted(&f, "final");
        let shape = [f.shape("tokens")[1], f.shape("tokens")[2]];
        let logits = no_grad(|| peft.logits(&batch(&f, 0).inputs, shape)).unwrap();
        assert!(near(logits.data(), f.values("logits")), "{name}");
    }
}
