//! rmsnorm_lastdim, without and with gain.

use super::{expect_shape, last_dim};
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

    let (px, value) = (x.parent(), x.detach());
    let gain = g.map(|g| (g.parent(), g.detach()));
    let mut parents = vec![px.clone()];
    parents.extend(gain.iter().map(|(pg, _)| pg.clone()));
    let parents: Vec<_> = parents.iter().collect();
    let facts = || vec![("eps", eps.into())];
    let op = Op::new("rmsnorm", [x]).and(g).says(&facts);
    Ok(Tensor::from_op(op, x.shape(), y, &parents, move |dy, grads| {
        if px.wants_grad() {
            let mut dx = Buffer::stale(dy.len());
            let g = gain.as_ref().map(|(_, g)| g.data());
            kernel::backward(&mut dx, &dy, value.data(), &stats, g, c);
            grads.give(&px, dx);
        }
        if let Some((pg, _)) = &gain {
            grads.accumulate_zeroed(pg, |dg| {
                kernel::backward_gain(dg, &dy, value.data(), &stats, c);
            });
        }
    }))
}
