//! `--matmul bf16`: products are rounded in a training step, and nowhere else.

use llm_core::kernels::gemm::{Precision, within};
use llm_core::model::{Batch, Mode};
use llm_core::ndarray::ArrayD;
use llm_core::train::{Trainer, evaluate};
use llm_core::{Config, Recipe, Tensor, TinyGPT, TokenDataset, ops};
use llm_variant_mha::MultiHead;
use std::ops::ControlFlow;
use std::sync::Arc;

fn data() -> TokenDataset {
    TokenDataset::from_tokens((0..4000u32).map(|i| (i * i / 7 + i) % 50).collect())
}

/// A run of a few steps on `threads` threads.
fn trained(matmul: Precision, threads: usize) -> Trainer {
    let config = Config { tied_head: true, ..Config::new(50, 33, 40, 2) };
    let model = TinyGPT::with_attention(config, Arc::new(MultiHead::new(4)), 1).unwrap();
    let recipe = Recipe { matmul, accum: 2, ..Recipe::new([6, 33], 4, 1e-2) };
    let mut trainer = Trainer::new(model, recipe).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        (0..4).for_each(|_| {
            trainer.step(&data()).unwrap();
        })
    });
    trainer
}

fn weights(trainer: &Trainer) -> Vec<Vec<f32>> {
    trainer.model.parameters().map(|(_, p)| p.data().to_vec()).collect()
}

#[test]
fn steps_are_the_same_bits_on_any_number_of_threads_and_others_than_in_f32() {
    let one = weights(&trained(Precision::Bf16, 1));
    for threads in [2, 3, 5] {
        assert!(weights(&trained(Precision::Bf16, threads)) == one, "{threads} threads");
    }
    let f32 = weights(&trained(Precision::F32, 1));
    assert!(f32 != one);
    let apart = |(a, b): (&f32, &f32)| (a - b).abs();
    let far = f32.iter().flatten().zip(one.iter().flatten()).map(apart).fold(0.0, f32::max);
    // Four steps of AdamW at 0.01 move a weight by 0.04 at most.
    assert!((1e-5..0.05).contains(&far), "{far}");
}

/// A loss is what `eval` would say of the model, whatever its steps are made of.
#[test]
fn measuring_rounds_nothing() {
    let rounding = trained(Precision::Bf16, 2);
    let mut exact = trained(Precision::Bf16, 2);
    exact.recipe.matmul = Precision::F32;
    let data = data();
    let windows = data.windows(33);
    let loss = |trainer: &Trainer| {
        evaluate(&trainer.model, &data, &windows, 6, |_| ControlFlow::Continue(())).unwrap()
    };
    assert_eq!(format!("{:?}", loss(&rounding)), format!("{:?}", loss(&exact)));
    let batch = data.batch(1, 0, [6, 33]).unwrap();
    let of = |batch: &Batch| rounding.model.loss(batch, Mode::Evaluation).unwrap().item();
    assert!(of(&batch) != within(Precision::Bf16, || of(&batch)), "the scope does nothing");
}

/// The gradient of a rounded product is the rounded product of the gradient: near that of f32.
#[test]
fn gradients_are_near_those_of_f32() {
    let number = |i: usize, salt: usize| ((i * 37 + salt * 11) % 101) as f32 / 50.0 - 1.0;
    let tensor = |shape: &[usize], salt| {
        let mut i = 0;
        Tensor::parameter(ArrayD::from_shape_simple_fn(shape, || {
            i += 1;
            number(i, salt)
        }))
    };
    let gradients = |precision| {
        let (x, w, b) = (tensor(&[5, 7, 24], 1), tensor(&[24, 18], 2), tensor(&[18], 3));
        let y = within(precision, || ops::linear_lastdim(&x, &w, Some(&b)).unwrap());
        // Outside the scope: the op keeps what it was called with.
        let grads = ops::sum(&ops::mul(&y, &y).unwrap()).unwrap().backward().unwrap();
        [&x, &w, &b].map(|p| grads.get(p).unwrap().to_vec())
    };
    let (exact, rounded) = (gradients(Precision::F32), gradients(Precision::Bf16));
    for (name, (exact, rounded)) in ["dx", "dw", "db"].into_iter().zip(exact.iter().zip(&rounded)) {
        let size = exact.iter().fold(0.0f32, |most, x| most.max(x.abs()));
        let far = exact.iter().zip(rounded).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!((1e-5..3e-2).contains(&(far / size)), "{name}: {far} of {size}");
    }
}
