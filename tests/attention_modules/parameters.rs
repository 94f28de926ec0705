//! The modules' parameters: how many, how they start, that they learn.

use super::{input, simple};
use llm_core::optim::Optimizer;
use llm_core::{AdamW, Hyperparameters, Tensor, ops};
use llm_courses::{KeepMask, MultiHeadAttention};

#[test]
fn parameters_are_counted_with_and_without_biases() {
    let gpt2 = MultiHeadAttention::new(768, 12, 1).unwrap();
    assert_eq!((gpt2.n_weights(), gpt2.n_parameters()), (2_359_296, 2_362_368)); // 4·768², + 4·768
    assert_eq!(simple(12, 3).n_parameters(), 4 * 12 * 12);
    let names: Vec<String> = gpt2.parameters().map(|(name, _)| name).collect();
    let want = "wq.weight wq.bias wk.weight wk.bias wv.weight wv.bias wo.weight wo.bias";
    assert_eq!(names.join(" "), want);
}

#[test]
fn new_parameters_follow_from_the_seed_and_fill_their_range() {
    let numbers = |seed| -> Vec<f32> {
        let module = MultiHeadAttention::new(64, 4, seed).unwrap();
        module.parameters().flat_map(|(_, p)| p.data().to_vec()).collect()
    };
    let all = numbers(3);
    assert_eq!(all, numbers(3));
    assert_ne!(all, numbers(4));
    let bound = 1.0 / 8.0; // 1/√64
    assert!(all.iter().all(|x| x.abs() <= bound));
    let n = all.len() as f32;
    let mean = all.iter().sum::<f32>() / n;
    let variance = all.iter().map(|x| x * x).sum::<f32>() / n;
    assert!(mean.abs() < 1e-3 && (variance / (bound * bound / 3.0) - 1.0).abs() < 0.02);
    let biases: Vec<f32> = all[64 * 64..64 * 65].to_vec();
    assert!(biases.iter().any(|x| *x != all[0]) && biases[0] != biases[1]);
}

/// A module learns: y is the token before.
#[test]
fn the_module_can_be_trained() {
    let (b, t, c) = (4, 6, 8);
    let mut module = MultiHeadAttention::new(c, 2, 1).unwrap();
    let x = input(&[b, t, c], 1).detach();
    let mut before = x.data().to_vec();
    before.rotate_right(c);
    let want = Tensor::from_vec(&[b, t, c], before).unwrap();
    let minus_want = ops::mul_scalar(&want, -1.0).unwrap();
    let mask = KeepMask::causal(t, t).unwrap();
    let mut adamw = AdamW::new(Hyperparameters::default()).unwrap();
    let mut losses = Vec::new();
    for _ in 0..60 {
        let error = ops::add(&module.forward(&x, Some(&mask)).unwrap(), &minus_want).unwrap();
        let loss = ops::sum(&ops::mul(&error, &error).unwrap()).unwrap();
        losses.push(loss.item());
        let grads = loss.backward().unwrap();
        adamw.step(&mut module.parameters_mut(), &grads, 1e-2, 1.0).unwrap();
    }
    assert!(losses[59] < 0.6 * losses[0], "{} {}", losses[0], losses[59]);
    let mut module = simple(4, 2);
    assert_eq!(module.parameters_mut().count(), 4);
}
