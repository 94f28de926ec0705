//! The courses' attention: values against twins, what equals what, what is hidden, what is refused.
//! (Values against PyTorch are in `pytorch_modules`.)

mod equivalences;
mod heads;
mod masks;
mod parameters;
mod refusals;
mod twins;

use llm_core::ndarray::ArrayD;
use llm_core::{Gradients, Tensor, ops};
use llm_courses::SimpleMultiHeadAttention;
use rand::{Rng, SeedableRng};

fn input(shape: &[usize], seed: u64) -> Tensor {
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    Tensor::parameter(ArrayD::from_shape_fn(shape, |_| rng.random_range(-1.0f32..1.0)))
}

/// Four weights [C, C].
fn weights(c: usize) -> [Tensor; 4] {
    [101, 102, 103, 104].map(|seed| input(&[c, c], seed))
}

fn simple(c: usize, h: usize) -> SimpleMultiHeadAttention {
    let [wq, wk, wv, wo] = weights(c);
    SimpleMultiHeadAttention::new(c, h, wq, wk, wv, wo).unwrap()
}

fn close(a: &[f32], b: &[f32]) {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).for_each(|(a, b)| assert!((a - b).abs() <= 2e-5 * b.abs().max(1.0), "{a} {b}"));
}

/// Gradients of Σ y∘r for some fixed r.
fn gradients(y: &Tensor) -> Gradients {
    let r = input(y.shape(), 999).detach();
    ops::sum(&ops::mul(y, &r).unwrap()).unwrap().backward().unwrap()
}
