//! The whole model, its gradients, and steps with AdamW and Muon against PyTorch in float64.

use llm_core::model::{Mode, Positions, Rotary, SingleHead};
use llm_core::optim::{AdamW, Muon, Optimizer};
use llm_core::settings::{MODEL, Value};
use llm_core::train::{OneProcess, Update, train_step};
use llm_core::{Attention, Batch, Config, Hyperparameters, TinyGPT};
use llm_variant_mha::MultiHead;
use llm_variant_modern::Modern;
use std::sync::Arc;
use workspace_tests::assert_close;
use workspace_tests::fixture::Fixture;

const TOL: f64 = 1e-5;

/// The fixture's model with its weights. One head runs in core, more in the variant.
pub fn model(f: &Fixture) -> TinyGPT {
    let n = |name: &str| f.meta(name) as usize;
    let config = Config {
        norm_affine: f.flag("norm_affine"),
        tied_head: f.flag("tied_head"),
        head_bias: f.flag("head_bias"),
        ..Config::new(n("vocab"), n("seq_len"), n("channels"), n("layers"))
    };
    let config = if f.has_meta("mlp") { beyond_the_baseline(f, config) } else { config };
    let attention: Arc<dyn Attention> = match n("heads") {
        1 => Arc::new(SingleHead),
        h if f.has_meta("groups") && config.positions == Positions::Rotary => {
            Arc::new(modern(f, h))
        }
        h => Arc::new(MultiHead::new(h)),
    };
    let mut model = TinyGPT::with_attention(config, attention, 0).unwrap();
    let names = f.names("param.");
    assert_eq!(model.parameters().count(), names.len(), "{names:?}");
    for (name, p) in model.parameters_mut() {
        assert_eq!(p.shape(), f.shape(&format!("param.{name}")), "{name}");
        p.data_mut().copy_from_slice(f.constant(&format!("param.{name}")).data());
    }
    model
}

/// A configuration with the fixture's norms, MLPs and positions.
fn beyond_the_baseline(f: &Fixture, config: Config) -> Config {
    let mut config = Config { n_inner: f.meta("inner") as usize, ..config };
    for name in ["norm", "mlp", "positions"] {
        let row = MODEL.iter().find(|row| row.field == name).unwrap();
        (row.put)(&mut config, Value::Text(f.word(name).into())).unwrap();
    }
    Config { mlp_bias: f.flag("mlp_bias"), ..config }
}

/// The fixture's attention.
fn modern(f: &Fixture, n_heads: usize) -> Modern {
    let n = |name: &str| f.meta(name) as usize;
    let on = f.flag("attention_bias");
    let heads = Modern::grouped(n_heads, n("groups")).with_head_dim(n("depth")).with_biases(on, on);
    let turned = heads.with_rotary(Rotary::partial(f.meta("theta"), n("rotated")));
    let windowed = if n("window") == 0 { turned } else { turned.with_window(n("window")) };
    let capped = match f.meta_if_any("soft_cap") {
        Some(cap) => windowed.with_soft_cap(cap),
        None => windowed,
    };
    if f.flag("qk_norm") { capped.with_qk_norm() } else { capped }
}

#[test]
fn logits_loss_and_every_gradient() {
    let baseline = ["tiny_gpt_h1", "tiny_gpt_h2", "tiny_gpt_h4", "tiny_gpt_h8", "tiny_gpt_gpt2_h2"];
    let modern = ["modern_core", "modern_llama", "modern_qwen", "modern_gemma"];
    for name in baseline.into_iter().chain(modern) {
        let f = Fixture::read(name);
        let model = model(&f);
        let shape = [f.shape("tokens")[0], f.shape("tokens")[1]];
        let batch = Batch::new(f.tokens("tokens"), f.tokens("targets"), shape);
        let logits = model.logits(&batch.inputs, shape).unwrap();
        assert_close(&format!("{name} logits"), logits.data(), f.values("logits"), TOL);
        let loss = model.loss(&batch, Mode::Evaluation).unwrap();
        assert_close(&format!("{name} loss"), loss.data(), f.values("loss"), TOL);
        let grads = loss.backward().unwrap();
        for (p, tensor) in model.parameters() {
            let want = f.values(&format!("grad.{p}"));
            assert_close(&format!("{name} d{p}"), grads.get(tensor).unwrap(), want, TOL);
        }
    }
}

/// The fixture's updates; `lr` per step, `clip` 0 for none.
fn steps(name: &str, optimizer: &mut dyn Optimizer, lr: impl Fn(usize) -> f32, clip: f32) {
    let f = Fixture::read(name);
    let mut model = model(&f);
    let c = model.config().d_model;
    let (tokens, targets) = (f.tokens("tokens"), f.tokens("targets"));
    let [b, t] = [f.shape("tokens")[1], f.shape("tokens")[2]];
    for i in 0..f.meta("steps") as usize {
        let part = |all: &[u32]| all[i * b * t..(i + 1) * b * t].to_vec();
        let batch = Batch::new(part(&tokens), part(&targets), [b, t]);
        let update = Update { step: i as u64, lr: lr(i), clip };
        let report =
            train_step(&mut model, optimizer, [Ok(batch)], update, &mut OneProcess, &mut ())
                .unwrap();
        assert_close(&format!("loss {i}"), &[report.loss], &f.values("losses")[i..=i], TOL);
        if clip > 0.0 {
            let norm = &f.values("grad_norms")[i..=i];
            assert_close(&format!("norm {i}"), &[report.grad_norm], norm, TOL);
        }
    }
    for (p, tensor) in model.parameters() {
        let (mut got, mut want) =
            (tensor.data().to_vec(), f.values(&format!("final.{p}")).to_vec());
        if p.ends_with("b_qkv") {
            // Softmax does not see a constant added to all keys: this gradient is 0 in theory, and
            // Adam turns its rounding noise into full steps.
            got.drain(c..2 * c);
            want.drain(c..2 * c);
        }
        assert_close(&format!("final {p}"), &got, &want, TOL);
    }
}

#[test]
fn twenty_steps_with_the_library_defaults() {
    let f = Fixture::read("adamw_h2");
    let config = Hyperparameters::default();
    let [b1, b2] = ["beta1", "beta2"].map(|n| f.meta(n) as f32);
    assert_eq!((config.beta1, config.beta2), (b1, b2));
    assert_eq!(config.weight_decay, f.meta("weight_decay") as f32);
    let lr = f.meta("lr") as f32;
    steps("adamw_h2", &mut AdamW::new(config).unwrap(), |_| lr, 0.0);
}

#[test]
fn twenty_steps_as_the_trainers_do_them() {
    let f = Fixture::read("adamw_clip_h1");
    let matrices = Hyperparameters { decay_all: false, ..Hyperparameters::default() };
    let config = Hyperparameters {
        beta1: f.meta("beta1") as f32,
        beta2: f.meta("beta2") as f32,
        eps: f.meta("eps") as f32,
        weight_decay: f.meta("weight_decay") as f32,
        ..matrices
    };
    let lrs = f.values("lrs").to_vec();
    let clip = f.meta("clip_norm") as f32;
    steps("adamw_clip_h1", &mut AdamW::new(config).unwrap(), |i| lrs[i] as f32, clip);
}

#[test]
fn ten_steps_with_muon() {
    let f = Fixture::read("muon_h2");
    let config = Hyperparameters {
        beta2: 0.99,
        weight_decay: 0.1,
        decay_all: false,
        ..Hyperparameters::default()
    };
    let lr = f.meta("lr") as f32;
    steps("muon_h2", &mut Muon::new(config, 0.95).unwrap(), |_| lr, 0.0);
}
