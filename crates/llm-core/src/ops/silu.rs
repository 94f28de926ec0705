//! silu, and swiglu: the gate of an MLP.

use super::activation::activation;
use super::{last_dim, with_last};
use crate::base::{Error, Result};
use crate::buffer::Buffer;
use crate::kernels::silu as kernel;
use crate::profile::span;
use crate::tensor::{Op, Tensor};

/// y = x·σ(x), element by element; σ(x) = 1/(1 + e⁻ˣ).
///
/// # Gradient
/// dx = dy·(σ(x) + x·σ(x)·(1 − σ(x))).
///
/// # Errors
/// No error: a `Result` so that ops compose alike.
///
/// # Reference
/// Elfwing, Uchibe, Doya, "Sigmoid-Weighted Linear Units for Neural Network Function Approximation
/// in Reinforcement Learning".
pub fn silu(x: &Tensor) -> Result<Tensor> {
    activation("silu", x, kernel::forward, kernel::backward)
}

/// y = silu(a) ∘ u, where a is the first half of the last axis of x, and u the second.
///
/// Both are halves of one tensor, as queries, keys and values are thirds of one: a single product
/// makes them, which reads the stream once, and its gradient is a single product too.
///
/// # Shapes
/// `[.., 2·I]` to `[.., I]`.
///
/// # Gradient
/// da = dy ∘ u ∘ silu′(a), du = dy ∘ silu(a).
///
/// # Errors
/// [`Error::Shape`] when there is no last axis of an even length.
///
/// # Reference
/// Shazeer, "GLU Variants Improve Transformer".
pub fn swiglu(x: &Tensor) -> Result<Tensor> {
    let _span = span("swiglu");
    let both = last_dim("swiglu", x)?;
    Error::unless_shaped(both % 2 == 0, "swiglu", "a last axis of two halves", x.shape())?;
    let inner = both / 2;
    let y = Buffer::written(x.numel() / 2, |y| kernel::gate_forward(y, x.data(), inner));
    let (parent, value) = (x.parent(), x.detach());
    let shape = with_last(x.shape(), inner);
    Ok(Tensor::from_op(Op::new("swiglu", [x]), &shape, y, &[&x.parent()], move |dy, grads| {
        grads.give_with(&parent, |dx| kernel::gate_backward(dx, &dy, value.data(), inner));
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::ArrayD;

    #[test]
    fn a_gate_needs_two_halves() {
        let of = |shape: &[usize]| swiglu(&Tensor::new(ArrayD::ones(shape)));
        assert_eq!(of(&[2, 3, 8]).unwrap().shape(), [2, 3, 4]);
        assert_eq!(of(&[0, 4]).unwrap().shape(), [0, 2]);
        for shape in [&[][..], &[3], &[2, 0]] {
            assert!(matches!(of(shape), Err(Error::Shape { op: "swiglu", .. })), "{shape:?}");
        }
    }
}
