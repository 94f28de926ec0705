//! One number of attention followed by hand: where its factors lie, what they are, what becomes of
//! it. Plain loops in f64, set against what the fast kernels make.
//!
//! | module | holds |
//! |---|---|
//! | `layout` | what an attention may have beyond multi-head attention |
//! | `sizes` | lengths of the axes, and row-major offsets |
//! | `loops` | all scores by plain loops: a place for a breakpoint |
//! | `numbers` | the equations of one query of one head |
//! | `watch` | what a layer is given, and what its kernels make of it |
//! | `example` | a layer of three positions whose numbers are small |
//! | `walk` | all of it put together |
//! | `follow` | the walk of a layer by itself, and of a layer of a model |

mod layout;

mod sizes;

mod loops;

mod numbers;

mod watch;

mod example;

mod walk;

mod follow;

#[cfg(test)]
mod tests;

pub use example::{Example, example};
pub use follow::{trace_example, trace_model};
pub use layout::{Rotation, Turn};
pub use loops::{scores_1h, scores_mha};
pub use numbers::{Bias, QueryRow, Sum, Term};
pub use sizes::{Place, Sizes};
pub use walk::{Kernel, Offsets, Token, Walk};
pub use watch::{Seen, Watch};
