//! rmsnorm_lastdim, without and with gain.

use super::{expect_shape, last_dim};
use crate::autograd::Parent;
use crate::base::Result;
use crate::buffer::Buffer;
use crate::kernels::rmsnorm as kernel;
use crate::profile::span;
use crate::tensor::{Op, Tensor};

/// y = g ∘ x/√(mean(x²) + ε) over the last axis. The gain is optional.
///
/// # Shapes
/// `x [.., C]`, `g [C]` to `[.., C]`.
///
/// # Gradient
/// With r = 1/√(mean(x²) + ε), x̂ = r·x and d = dy ∘ g: dx = r·(d − x̂·mean(d ∘ x̂)),
/// dg = Σ_rows dy ∘ x̂.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when there is no last axis, or the gain has not its length.
///
/// # Reference
/// Zhang, Sennrich, "Root Mean Square Layer Normalization".
pub fn rmsnorm_lastdim(x: &Tensor, g: Option<&Tensor>, eps: f32) -> Result<Tensor> {
    let _span = span("rmsnorm");
    let c = last_dim("rmsnorm_lastdim", x)?;
    if let Some(g) = g {
        expect_shape("rmsnorm_lastdim", "a gain of shape", g, &[c])?;
    }
    let mut y = Buffer::stale(x.numel());
    let mut stats = Buffer::stale(x.numel() / c * kernel::STATS);
    kernel::forward(&mut y, &mut stats, x.data(), g.map(Tensor::data), c, eps);

    let (px, value, gain) = (x.parent(), x.detach(), g.map(Tensor::detach));
    let pg = g.map_or_else(Parent::constant, Tensor::parent);
    let parents = [px.clone(), pg.clone()];
    let facts = || vec![("eps", eps.into())];
    let op = Op::new("rmsnorm", [x]).and(g).says(&facts);
    Ok(Tensor::from_op(op, x.shape(), y, &parents.each_ref(), move |dy, grads| {
        let (x, g) = (value.data(), gain.as_ref().map(Tensor::data));
        grads.give_with(&px, |dx| kernel::backward(dx, &dy, x, &stats, g, c));
        grads.accumulate_zeroed(&pg, |dg| kernel::backward_gain(dg, &dy, x, &stats, c));
    }))
}
