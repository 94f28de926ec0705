//! The inputs of the walkthrough and of the index trace.

use llm_core::Tensor;
use llm_variant_mha::causal_attention_heads;

pub type Rows<const D: usize> = [[f32; D]; 3];

/// Section 4.1: one head of four channels.
pub const BASE: [Rows<4>; 3] = [
    [[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0]],
    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]],
    [[1.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 3.0, 0.0]],
];

/// Section 4.2: q, k, v of the two heads.
pub const HEADS: [[Rows<2>; 3]; 2] = [
    [
        [[1.0, 0.0], [1.0, 1.0], [2.0, 0.0]],
        [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]],
        [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]],
    ],
    [
        [[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]],
        [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]],
        [[10.0, 0.0], [0.0, 10.0], [5.0, 5.0]],
    ],
];

/// The index trace: one head of two channels.
pub const TRACE: [Rows<2>; 3] = [
    [[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]],
    [[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]],
    [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
];

/// `qkv [1, 3, 3C]` from q, k, v of every head.
pub fn qkv<const D: usize>(heads: &[[Rows<D>; 3]]) -> Vec<f32> {
    let mut data = Vec::new();
    for t in 0..3 {
        for part in 0..3 {
            heads.iter().for_each(|head| data.extend(head[part][t]));
        }
    }
    data
}

pub fn two_heads() -> Tensor {
    Tensor::from_vec(&[1, 3, 12], qkv(&HEADS)).unwrap()
}

#[test]
fn the_walkthrough_runs() {
    let qkv = two_heads(); // [1, 3, 12], the numbers of 4.2
    let y = causal_attention_heads(&qkv, 2, &[], None).unwrap(); // [1, 3, 4]
    let last = &y.data()[8..12]; // att[2]
    assert_eq!(y.shape(), [1, 3, 4]);
    workspace_tests::assert_close("att[2]", last, &[0.891617, 0.554192, 7.179731, 2.820269], 1e-6);
}
