//! Small weights: a matrix in 16, 8 or 4 bits a number, for the products of a few new tokens.
//!
//! A token reads every weight once, so it takes the time that memory takes to bring them: half the
//! bytes, half the time, until arithmetic is the limit. Numbers are rounded once, when the matrix is packed.
//!
//! | module | holds |
//! |---|---|
//! | `half` | the 16 bits of a scale |
//! | `block` | 32 numbers, rounded together |
//! | `matrix` | where the blocks of a matrix lie |
//! | `few_rows` | rows in groups, for which a word is taken apart once |
//! | `halves` | products with bf16, widened again |
//! | `wholes` | products with q8 and q4, of whole numbers |
//! | `dots` | the same by aarch64's products of bytes |
//! | `product` | y ← y + x·W |

pub mod block;
#[cfg(target_arch = "aarch64")]
mod dots;
mod few_rows;
mod half;
mod halves;
mod matrix;
mod product;
mod wholes;

pub use block::SmallKind;
pub use matrix::{Given, SmallMatrix, Stored};
pub use product::add_product;
