//! The global gradient norm, and clipping by it.

use crate::autograd::Gradients;
use crate::kernels::norm::sum_of_squares;
use crate::profile::span;
use crate::tensor::Tensor;

/// √(Σ over all parameters of Σ g²), in f64 and in the parameters' order.
pub fn grad_norm<'a>(
    parameters: impl IntoIterator<Item = (String, &'a Tensor)>,
    grads: &Gradients,
) -> f64 {
    let _span = span("clip");
    let squares = parameters.into_iter().map(|(_, p)| grads.get(p).map_or(0.0, sum_of_squares));
    squares.sum::<f64>().sqrt()
}

/// What gradients are multiplied by so that their norm is at most `max_norm`:
/// min(1, max_norm/(norm + 10⁻⁶)), as PyTorch's `clip_grad_norm_`. 0 switches clipping off.
pub fn clip_scale(norm: f64, max_norm: f32) -> f32 {
    if max_norm <= 0.0 { 1.0 } else { (f64::from(max_norm) / (norm + 1e-6)).min(1.0) as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_gradients_are_shortened_and_short_ones_kept() {
        assert_eq!(clip_scale(0.5, 1.0), 1.0);
        assert!((clip_scale(4.0, 1.0) - 0.25).abs() < 1e-6);
        assert_eq!(clip_scale(4.0, 0.0), 1.0);
    }
}
