//! layernorm_lastdim, without and with gain and bias.

use super::{expect_shape, last_dim};
use crate::autograd::Parent;
use crate::base::Result;
use crate::buffer::Buffer;
use crate::kernels::layernorm as kernel;
use crate::profile::span;
use crate::tensor::{Op, Tensor};

/// y = (x − μ) / √(σ² + ε) over the last axis; σ² is the biased variance.
///
/// # Shapes
/// `[.., C]` to the same.
///
/// # Gradient
/// dx = 1/√(σ²+ε) · (dy − mean(dy) − y·mean(dy ∘ y)).
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when there is no last axis.
///
/// # Reference
/// Ba, Kiros, Hinton, "Layer Normalization".
pub fn layernorm_lastdim(x: &Tensor, eps: f32) -> Result<Tensor> {
    norm(x, None, eps)
}

/// y = g ∘ (x − μ) / √(σ² + ε) + b over the last axis.
///
/// # Shapes
/// `x [.., C]`, `g [C]`, `b [C]` to `[.., C]`.
///
/// # Gradient
/// With x̂ the normalised row and d = dy ∘ g: dx as above with d for dy and x̂ for y,
/// dg = Σ_rows dy ∘ x̂, db = Σ_rows dy.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when gain or bias have not the last axis' length.
pub fn layernorm_affine_lastdim(x: &Tensor, g: &Tensor, b: &Tensor, eps: f32) -> Result<Tensor> {
    let c = last_dim("layernorm_affine_lastdim", x)?;
    expect_shape("layernorm_affine_lastdim", "a gain of shape", g, &[c])?;
    expect_shape("layernorm_affine_lastdim", "a bias of shape", b, &[c])?;
    norm(x, Some((g, b)), eps)
}

fn norm(x: &Tensor, affine: Option<(&Tensor, &Tensor)>, eps: f32) -> Result<Tensor> {
    let _span = span("layernorm");
    let c = last_dim("layernorm_lastdim", x)?;
    let mut y = Buffer::stale(x.numel());
    let mut stats = Buffer::stale(x.numel() / c * kernel::STATS);
    let slices = affine.map(|(g, b)| (g.data(), b.data()));
    kernel::forward(&mut y, &mut stats, x.data(), slices, c, eps);
    let (g, b) = affine.unzip();
    let (px, value, gain) = (x.parent(), x.detach(), g.map(Tensor::detach));
    let [pg, pb] = [g, b].map(|p| p.map_or_else(Parent::constant, Tensor::parent));
    let parents = [px.clone(), pg.clone(), pb.clone()];
    let facts = || vec![("eps", eps.into())];
    let op = Op::new("layernorm", [x]).and(g).and(b).says(&facts);
    Ok(Tensor::from_op(op, x.shape(), y, &parents.each_ref(), move |dy, grads| {
        let (x, gain) = (value.data(), gain.as_ref().map(Tensor::data));
        grads.give_with(&px, |dx| kernel::backward(dx, &dy, x, &stats, gain, c));
        if gain.is_some() {
            let (mut dg, mut db) = (Buffer::zeros(c), Buffer::zeros(c));
            kernel::backward_affine(&mut dg, &mut db, &dy, x, &stats, c);
            grads.give(&pg, dg);
            grads.give(&pb, db);
        }
    }))
}
