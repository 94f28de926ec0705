//! The examples of docs/concepts/: each is run through the library's own functions, so the pages and their
//! figures show what the code computes. The pages quote lines of these files.

pub mod adapters;
pub mod cause;
pub mod embedding;
pub mod figures;
pub mod lookup;
pub mod map;
pub mod masks;
pub mod mlp;
pub mod next;
pub mod order;
pub mod overfitting;
pub mod products;
pub mod pytorch;
pub mod residual;
pub mod rewards;
pub mod robust;
pub mod scaling;
pub mod softmax;

use llm_core::Tensor;

/// A matrix from its rows.
pub fn rows<const R: usize, const C: usize>(rows: [[f32; C]; R]) -> Tensor {
    Tensor::from_vec(&[R, C], rows.concat()).unwrap()
}

/// A matrix as the pages print it.
pub fn wide(matrix: &Tensor) -> Vec<f64> {
    matrix.data().iter().map(|&x| x.into()).collect()
}
