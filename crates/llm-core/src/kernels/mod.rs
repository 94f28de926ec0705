//! The maths: plain functions over slices and 2-D views.
//!
//! The contract of every kernel:
//! - no tensors, no errors, no autograd: the op above has checked the shapes;
//! - outputs are overwritten, whatever they held; gradients of parameters are added to;
//! - each output element has one writer and a fixed summation order, so results have the same
//!   bits for any number of threads;
//! - a fast kernel's meaning is its naive twin in the tests of the same file.

pub mod adamw;
pub mod attention;
pub mod broadcast;
pub mod cross_entropy;
pub mod dropout;
pub mod elementwise;
pub mod embedding;
pub mod finite;
pub mod gelu;
pub mod gelu_exact;
pub mod gemm;
pub mod gemv;
pub mod layernorm;
pub mod lion;
mod math;
pub mod norm;
pub mod parallel;
pub mod peak;
pub mod relu2;
pub mod rmsnorm;
pub mod rotary;
pub mod rows;
pub mod silu;
pub mod simd;
pub mod small;
pub mod softmax;
pub mod transpose;
