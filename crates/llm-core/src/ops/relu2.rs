//! relu2: the square of ReLU.

use super::activation::activation;
use crate::base::Result;
use crate::kernels::relu2 as kernel;
use crate::tensor::Tensor;

/// y = max(x, 0)², element by element.
///
/// # Gradient
/// dx = dy·2·max(x, 0).
///
/// # Errors
/// No error: a `Result` so that ops compose alike.
///
/// # Reference
/// So et al., "Primer: Searching for Efficient Transformers for Language Modeling".
pub fn relu2(x: &Tensor) -> Result<Tensor> {
    activation("relu2", x, kernel::forward, kernel::backward)
}
