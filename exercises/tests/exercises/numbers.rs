//! Numbers to try things on: without a pattern, and the same every time.

use llm_core::ndarray::{Array, Dimension, ShapeBuilder};
use llm_exercises::Weights;

/// Numbers between −1.5 and 1.5. Another `salt`, other numbers.
pub fn some<D: Dimension, Sh: ShapeBuilder<Dim = D>>(shape: Sh, salt: u64) -> Array<f64, D> {
    let mut state = salt.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    Array::from_shape_simple_fn(shape, || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 11) % 3001) as f64 / 1000.0 - 1.5
    })
}

/// Weights of a layer that is C wide.
pub fn some_weights(c: usize, salt: u64) -> Weights {
    Weights {
        w_qkv: some((c, 3 * c), salt),
        b_qkv: some(3 * c, salt + 1),
        w_proj: some((c, c), salt + 2),
        b_proj: some(c, salt + 3),
    }
}

/// The layer of docs/variants/mha/learn_by_hand.md: q, k and v are x, the output is sum and difference.
pub fn layer_by_hand() -> Weights {
    use llm_core::ndarray::{Axis, arr1, arr2, concatenate};
    let one = arr2(&[[1.0, 0.0], [0.0, 1.0]]);
    Weights {
        w_qkv: concatenate(Axis(1), &[one.view(), one.view(), one.view()]).unwrap(),
        b_qkv: arr1(&[0.0; 6]),
        w_proj: arr2(&[[1.0, 1.0], [1.0, -1.0]]),
        b_proj: arr1(&[0.0; 2]),
    }
}
