//! One number of attention followed by hand: where its factors lie, what they are, what becomes of
//! it. Plain loops in f64, set against what the fast kernels make.
//!
//! | module | holds |
//! |---|---|
//! | `sizes` | lengths of the axes, and row-major offsets |
//! | `numbers` | the equations of one query of one head |
//! | `watch` | what a layer is given, and what its kernels make of it |
//! | `example` | a layer of three positions whose numbers are small |
//! | `walk` | all of it put together |
//! | `text` | the walk as a person reads it |

mod example;
mod numbers;
mod sizes;
#[cfg(test)]
mod tests;
mod text;
mod walk;
mod watch;

pub use example::{Example, example};
pub use numbers::{Bias, HeadRow, Sum, Term};
pub use sizes::{Place, Sizes};
pub use text::text;
pub use walk::{Kernel, Offsets, Token, Walk};
pub use watch::{Seen, Watch};
