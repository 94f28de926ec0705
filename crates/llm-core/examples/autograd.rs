//! Autograd: a graph by hand, gradients that add up, and a check by finite differences.
//!
//! `cargo run -p llm-core --example autograd`

#![allow(clippy::print_stdout)] // an example may print

use llm_core::ndarray::arr1;
use llm_core::{Gradients, Result, Tensor, gradcheck, no_grad, ops};

/// L = Σ (w² + w): w takes part three times, so three shares meet in its gradient.
fn loss(w: &Tensor) -> Result<Tensor> {
    let square = ops::mul(w, w)?;
    ops::sum(&ops::add(&square, w)?)
}

/// The lesson, from top to bottom.
pub fn main() -> Result<()> {
    // A parameter is a leaf that wants a gradient. Every op on it remembers how it was made.
    let w = Tensor::parameter(arr1(&[2.0, 3.0]).into_dyn());
    let l = loss(&w)?;
    println!("loss       {}", l.item());

    // backward walks from the loss to the leaves, newest op first: dL/dw = w + w + 1.
    let grads = l.backward()?;
    let dw = grads.get(&w).expect("w took part").to_vec();
    assert_eq!(dw, [5.0, 7.0]);
    println!("gradient   {dw:?}");

    // The same by moving one number at a time: (L(w + ε) − L(w − ε)) / 2ε.
    let eps = 0.01;
    for i in 0..w.numel() {
        let moved = |step: f32| -> Result<f32> {
            let mut w = w.clone();
            w.data_mut()[i] += step;
            Ok(loss(&w)?.item())
        };
        let numeric = (moved(eps)? - moved(-eps)?) / (2.0 * eps);
        assert!((numeric - dw[i]).abs() < 1e-2);
        println!("numeric    dL/dw[{i}] {numeric:.2}");
    }
    // gradcheck does that in random directions, with sums in f64: the check for an op of your own.
    gradcheck::check(std::slice::from_ref(&w), 1, |inputs| loss(&inputs[0]))?;

    // Gradients are returned, not kept in the tensors: nothing has to be zeroed between steps.
    // Those of several losses are added on request, here half of each.
    let mut both = Gradients::default();
    for _ in 0..2 {
        both = loss(&w)?.backward_into(both, 0.5)?;
    }
    assert_eq!(both.get(&w), Some(&dw[..]));
    println!("two halves {:?}", both.get(&w).unwrap_or_default());

    // The walk lets go of what each op kept, so a graph is walked once.
    let again = l.backward().expect_err("its graph is used up");
    println!("again      {again}");

    // Without recording, results are constants, and nothing is kept for a backward pass.
    let silent = no_grad(|| loss(&w))?;
    assert!(!silent.wants_grad() && silent.backward().is_err());
    println!("no_grad    {}, no way back", silent.item());

    // One step downhill, as an optimizer takes it.
    let mut moved = w.clone();
    moved.data_mut().iter_mut().zip(&dw).for_each(|(w, g)| *w -= 0.1 * g);
    assert!(loss(&moved)?.item() < l.item());
    println!("a step     {:.2}", loss(&moved)?.item());
    Ok(())
}
