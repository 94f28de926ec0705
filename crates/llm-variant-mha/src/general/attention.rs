//! scaled_dot_product_attention: the function that everything else here is made of.

use super::layout::Layout;
use super::mask::AdditiveMask;
use super::weighted_sum::weighted_sum;
use super::weights::attention_weights;
use llm_core::{Result, Tensor};

/// Attention with any batch axes, scale and mask:
///
/// ```text
/// S = Q·Kᵀ·scale + mask        scale = 1/√D unless given
/// P = softmax of every row of S
/// Y = P·V
/// ```
///
/// Q, K and V need not have the same length or the same width. A row of S that the mask hides
/// wholly gives a row of zeros.
///
/// # Shapes
/// `q [.., L, D]`, `k [.., S, D]`, `v [.., S, Dv]` to `[.., L, Dv]`. The batch axes `..` are any
/// number, none included, and the same in all three. The mask broadcasts to `[.., L, S]`.
///
/// # Gradient
/// Into q, k and v: dV = Pᵀ·dY, dP = dY·Vᵀ, dS = P ∘ (dP − Σⱼ P·dP), dQ = dS·K·scale,
/// dK = dSᵀ·Q·scale.
///
/// # Errors
/// [`Error::Shape`](llm_core::Error::Shape) naming the argument that does not fit.
///
/// # Reference
/// Vaswani et al., "Attention Is All You Need", 3.2.1, equation 1.
///
/// ```
/// use llm_core::{Tensor, ndarray::ArrayD};
/// use llm_variant_mha::general::{AdditiveMask, scaled_dot_product_attention};
///
/// let q = Tensor::new(ArrayD::ones(vec![2, 3, 4, 8])); // 2·3 matrices of L = 4, D = 8
/// let k = Tensor::new(ArrayD::ones(vec![2, 3, 6, 8]));
/// let v = Tensor::new(ArrayD::ones(vec![2, 3, 6, 5]));
/// let causal = AdditiveMask::causal(4, 6)?;
/// let y = scaled_dot_product_attention(&q, &k, &v, None, Some(&causal))?;
/// assert_eq!(y.shape(), [2, 3, 4, 5]);
/// # Ok::<(), llm_core::Error>(())
/// ```
#[doc(alias = "scaled_dot_product_attention_simple")] // its name in Tiny-LLM
pub fn scaled_dot_product_attention(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    scale: Option<f32>,
    mask: Option<&AdditiveMask>,
) -> Result<Tensor> {
    const OP: &str = "scaled_dot_product_attention";
    let layout = Layout::new(OP, [q, k, v], None)?;
    let mask = mask.map(|mask| mask.over(OP, &layout.scores())).transpose()?;
    let scale = scale.unwrap_or_else(|| default_scale(layout.sizes.d));
    let p = attention_weights(q, k, &layout, scale, mask); // [.., L, S]
    Ok(weighted_sum(&p, v, &layout)) // [.., L, Dv]
}

/// 1/√D: scores of independent numbers of variance 1 then have variance 1 too.
pub(super) fn default_scale(d: usize) -> f32 {
    1.0 / (d as f32).sqrt()
}
