//! The maths: plain functions over slices and 2-D views.
//!
//! The contract of every kernel:
//! - no tensors, no errors, no autograd: the op above has checked the shapes;
//! - outputs are overwritten, whatever they held; gradients of parameters are added to;
//! - each output element has one writer and a fixed summation order, so results have the same
//!   bits for any number of threads;
//! - a fast kernel's meaning is its naive twin in the tests of the same file.

#[doc(hidden)]
pub mod adamw;
pub mod attention;
#[doc(hidden)]
pub mod broadcast;
#[doc(hidden)]
pub mod cross_entropy;
pub mod dropout;
#[doc(hidden)]
pub mod elementwise;
#[doc(hidden)]
pub mod embedding;
#[doc(hidden)]
pub mod finite;
#[doc(hidden)]
pub mod gelu;
#[doc(hidden)]
pub mod gelu_exact;
#[doc(hidden)]
pub mod gemm;
#[doc(hidden)]
pub mod gemv;
#[doc(hidden)]
pub mod layernorm;
#[doc(hidden)]
pub mod lion;
mod math;
#[doc(hidden)]
pub mod muon;
#[doc(hidden)]
pub mod ngrams;
#[doc(hidden)]
pub mod norm;
pub mod parallel;
#[doc(hidden)]
pub mod peak;
#[doc(hidden)]
pub mod relu2;
#[doc(hidden)]
pub mod rmsnorm;
pub mod rotary;
#[doc(hidden)]
pub mod rows;
#[doc(hidden)]
pub mod silu;
#[doc(hidden)]
pub mod simd;
#[doc(hidden)]
pub mod small;
#[doc(hidden)]
pub mod softmax;
#[doc(hidden)]
pub mod transpose;
