//! gelu and gelu_exact: the activation of the MLP.

use super::activation::activation;
use crate::base::Result;
use crate::kernels::{gelu as kernel, gelu_exact as exact};
use crate::tensor::Tensor;

/// y = ½·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))), element by element.
///
/// # Gradient
/// dx = dy·gelu′(x), see [`kernels::gelu`](crate::kernels::gelu).
///
/// # Errors
/// No error: a `Result` so that ops compose alike.
///
/// # Reference
/// Hendrycks and Gimpel, "Gaussian Error Linear Units (GELUs)", the tanh form.
pub fn gelu(x: &Tensor) -> Result<Tensor> {
    activation("gelu", x, kernel::forward, kernel::backward)
}

/// y = x·Φ(x) = ½·x·(1 + erf(x/√2)), element by element: what [`gelu`] comes near to.
///
/// # Gradient
/// dx = dy·(Φ(x) + x·φ(x)), see [`kernels::gelu_exact`](crate::kernels::gelu_exact).
///
/// # Errors
/// No error: a `Result` so that ops compose alike.
///
/// # Reference
/// Hendrycks and Gimpel, "Gaussian Error Linear Units (GELUs)".
pub fn gelu_exact(x: &Tensor) -> Result<Tensor> {
    activation("gelu_exact", x, exact::forward, exact::backward)
}
