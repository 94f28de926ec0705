//! An op of your own: its value, its gradient, and the proof that they belong together.
//!
//! `cargo run -p llm-core --example own_op`

#![allow(clippy::print_stdout)] // an example may print

use llm_core::ndarray::ArrayD;
use llm_core::{Error, Result, Tensor, gradcheck, ops};

/// y = max(x, 0)², element by element.
///
/// # Gradient
/// dx = 2·max(x, 0)·dy.
fn relu_squared(x: &Tensor) -> Result<Tensor> {
    with_factor(x, 2.0)
}

/// [`relu_squared`] with a gradient that can be made wrong; 2 is right.
fn with_factor(x: &Tensor, factor: f32) -> Result<Tensor> {
    let y: Vec<f32> = x.data().iter().map(|x| x.max(0.0).powi(2)).collect();
    // What the backward pass needs: where the gradient goes, and the input's value.
    let (parent, value) = (x.parent(), x.detach());
    Ok(Tensor::from_op("relu_squared", x.shape(), y, &[&x.parent()], move |dy, grads| {
        let dx = dy.iter().zip(value.data()).map(|(dy, x)| factor * x.max(0.0) * dy);
        grads.give(&parent, dx.collect());
    }))
}

/// The lesson, from top to bottom.
pub fn main() -> Result<()> {
    let x = Tensor::parameter(ArrayD::from_shape_fn(vec![2, 3], |i| {
        (i[0] * 3 + i[1]) as f32 - 2.0 // -2 .. 3
    }));
    let y = relu_squared(&x)?;
    println!("x        {:?}", x.data());
    println!("y        {:?}", y.data());

    // dL/dx for L = Σ y.
    let grads = ops::sum(&y)?.backward()?;
    let dx = grads.get(&x).unwrap_or_default();
    assert_eq!(dx, [0.0, 0.0, 0.0, 2.0, 4.0, 6.0]);
    println!("dL/dx    {dx:?}");

    // The public check compares it with differences of values, in random directions.
    let report = gradcheck::check(std::slice::from_ref(&x), 1, |x| relu_squared(&x[0]))?;
    assert!(report.error < gradcheck::TOLERANCE);
    println!("checked  within {}", gradcheck::TOLERANCE);

    // A factor forgotten is found. Without such a check the model would merely learn badly.
    let wrong = gradcheck::check(std::slice::from_ref(&x), 1, |x| with_factor(&x[0], 1.0));
    assert!(matches!(wrong, Err(Error::Gradient { input: 0, .. })));
    println!("forgot 2 refused");

    // From here on it is an op like any other: with the library's own it makes a graph.
    let w = Tensor::parameter(ArrayD::from_shape_fn(vec![3, 2], |i| (i[0] + i[1]) as f32 / 4.0));
    let inputs = [x, w];
    gradcheck::check(&inputs, 2, |inputs| {
        ops::softmax_lastdim(&relu_squared(&ops::linear_lastdim(&inputs[0], &inputs[1], None)?)?)
    })?;
    println!("softmax(relu_squared(x·W)) checked, into x and W");
    Ok(())
}
