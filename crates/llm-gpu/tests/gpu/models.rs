//! Whole models: the gradients of the first step, the losses of forty, the same bits again.

use crate::support::{apart, gpu, hyper, on, text};
use llm_core::model::Activation;
use llm_core::model::{Mlp, Mode, Norm, Positions, SingleHead};
use llm_core::optim::clip_scale;
use llm_core::train::Trainer;
use llm_core::{Attention, Config, Recipe, TinyGPT};
use llm_gpu::Gpu;
use llm_variant_mha::MultiHead;
use llm_variant_modern::Modern;
use std::sync::Arc;

const STEPS: u64 = 40;
const LR: f32 = 3e-3;
const CLIP: f32 = 1.0;
const TOLERANCE: f64 = 1e-5;

/// Losses and norms of so many steps, and the weights behind them.
fn run(gpu: &Gpu, model: &TinyGPT, shape: [usize; 2], steps: u64) -> (Vec<[f32; 2]>, Vec<f32>) {
    let data = text();
    let mut step = on(gpu, model, &data.batch(1, 0, shape).unwrap());
    let mut reports = Vec::new();
    for i in 0..steps {
        step.gradient(&data.batch(1, i, shape).unwrap(), 0).unwrap();
        let report = step.report().unwrap();
        step.update(LR, clip_scale(f64::from(report.grad_norm), CLIP));
        reports.push([report.loss, report.grad_norm]);
    }
    (reports, step.weights().unwrap().into_iter().flat_map(|(_, w)| w).collect())
}

fn agrees(name: &str, config: Config, attention: Arc<dyn Attention>, batch_size: usize) {
    let Some(gpu) = gpu() else { return };
    let shape = [batch_size, config.seq_len];
    let model = TinyGPT::with_attention(config, attention, 1).unwrap();
    let data = text();
    let batch = data.batch(1, 0, shape).unwrap();
    let mut step = on(&gpu, &model, &batch);
    step.gradient(&batch, 0).unwrap();
    let loss = model.loss(&batch, Mode::Training).unwrap();
    let first = f64::from(step.report().unwrap().loss - loss.item()).abs();
    assert!(first < TOLERANCE, "the first loss is {first:.1e} apart");
    let wanted = loss.backward().unwrap();
    let gradients = step.gradients().unwrap();
    let mut worst = (0.0, String::new());
    for ((name, p), (of, got)) in model.parameters().zip(&gradients) {
        assert_eq!(name, *of);
        let off = apart(got, wanted.get(p).unwrap());
        assert!(off < TOLERANCE, "the gradient of {name} is {off:.1e} apart");
        if off > worst.0 {
            worst = (off, name);
        }
    }

    let mut recipe = Recipe::new(shape, STEPS, LR);
    recipe.schedule = llm_core::Schedule::constant(LR);
    (recipe.optimizer, recipe.hyperparameters) = ("adamw".into(), hyper());
    (recipe.clip, recipe.seed) = (CLIP, 1);
    let mut trainer = Trainer::new(model.clone(), recipe).unwrap();
    let (reports, weights) = run(&gpu, &model, shape, STEPS);
    let (mut losses, mut norms) = (0.0f32, 0.0f32);
    for [loss, norm] in &reports {
        let report = trainer.step(&data).unwrap();
        losses = losses.max((loss - report.loss).abs());
        norms = norms.max((norm / report.grad_norm - 1.0).abs());
    }
    println!(
        "{name}: gradients {:.1e} ({}), losses of {STEPS} steps {losses:.1e}, norms {norms:.1e}",
        worst.0, worst.1
    );
    assert!(f64::from(losses) < TOLERANCE, "losses are {losses:.1e} apart");
    let (again, weights_again) = run(&gpu, &model, shape, STEPS);
    let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&reports.concat()), bits(&again.concat()), "the same bits on every run");
    assert_eq!(bits(&weights), bits(&weights_again), "the same bits on every run");
}

#[test]
fn the_baseline() {
    agrees("baseline", Config::new(256, 16, 32, 1), Arc::new(SingleHead), 2);
}

#[test]
fn a_deeper_baseline_of_odd_sizes() {
    agrees("deep", Config::new(256, 33, 20, 3), Arc::new(SingleHead), 3);
}

#[test]
fn several_heads_on_many_rows() {
    agrees("heads", Config::new(256, 64, 48, 2), Arc::new(MultiHead::new(3)), 8);
}

#[test]
fn gpt2s_options() {
    let config = Config { activation: Activation::GeluTanh, ..Config::gpt2(256, 24, 32, 2) };
    let config = Config { dropout: 0.0, ..config };
    agrees("gpt2", config, Arc::new(MultiHead::new(4)), 4);
}

#[test]
fn dropout_with_the_masks_of_the_processor() {
    let config = Config { dropout: 0.2, ..Config::new(256, 37, 40, 2) };
    agrees("dropout", config, Arc::new(MultiHead::new(2)), 3);
}

/// GPT-2's small weights and AdamW's small moments let two runs of another rounding part, so their
/// losses are no measure with dropout. The gradient is: at the weights that the GPU came to, with the
/// masks of that step.
#[test]
fn a_later_gradient_of_gpt2_with_dropout() {
    let Some(gpu) = gpu() else { return };
    let config = Config { dropout: 0.2, ..Config::gpt2(256, 37, 40, 2) };
    let shape = [3, config.seq_len];
    let mut model = TinyGPT::with_attention(config, Arc::new(MultiHead::new(2)), 1).unwrap();
    let data = text();
    let mut step = on(&gpu, &model, &data.batch(1, 0, shape).unwrap());
    for i in 0..STEPS {
        step.gradient(&data.batch(1, i, shape).unwrap(), 0).unwrap();
        let norm = step.report().unwrap().grad_norm;
        step.update(LR, clip_scale(f64::from(norm), CLIP));
    }
    for ((_, p), (_, weights)) in model.parameters_mut().zip(step.weights().unwrap()) {
        p.data_mut().copy_from_slice(&weights);
    }
    let batch = data.batch(1, STEPS, shape).unwrap();
    step.gradient(&batch, 0).unwrap();
    let loss = model.loss(&batch, Mode::Training).unwrap();
    let off = f64::from(step.report().unwrap().loss - loss.item()).abs();
    assert!(off < TOLERANCE, "the loss is {off:.1e} apart");
    let wanted = loss.backward().unwrap();
    let mut worst = 0.0f64;
    for ((name, p), (_, got)) in model.parameters().zip(&step.gradients().unwrap()) {
        let off = apart(got, wanted.get(p).unwrap());
        assert!(off < TOLERANCE, "the gradient of {name} is {off:.1e} apart");
        worst = worst.max(off);
    }
    println!("gpt2 with dropout, step {STEPS}: gradients {worst:.1e}, loss {off:.1e}");
}

fn modern(seq: usize, width: usize, layers: usize, mlp: Mlp) -> Config {
    let mut config = Config::new(256, seq, width, layers);
    (config.norm, config.norm_affine) = (Norm::Rms, true);
    (config.positions, config.mlp) = (Positions::Rotary, mlp);
    (config.mlp_bias, config.head_bias) = (false, false);
    config
}

#[test]
fn groups_rotary_rms_and_swiglu() {
    let attention = Modern::grouped(4, 2).with_rotary(500.0).without_biases();
    agrees("llama", modern(21, 32, 2, Mlp::SwiGlu), Arc::new(attention), 3);
}

#[test]
fn a_window_qk_norm_and_relu2() {
    let attention = Modern::grouped(6, 3).with_rotary(500.0).with_window(5).with_qk_norm();
    agrees("qk", modern(19, 36, 2, Mlp::Relu2), Arc::new(attention), 2);
}
