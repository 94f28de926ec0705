//! What a binary is: its models, and a few words. All that differs between the trainers.

use llm_core::{Error, Tensor};
use llm_run::models::Models;
pub use llm_run::settings::ALL_OPTIONS;

/// Attention between the projections: `qkv [B, T, 3C]` and H to `[B, T, C]`.
pub type Attend = fn(&Tensor, usize) -> Result<Tensor, Error>;

/// A binary's description of itself, for [`run`](crate::run).
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// One line for `--help`.
    pub about: &'static str,
    /// The models that it makes, and the name one types.
    pub models: Models,
    /// For `bench`; none where there is one head.
    pub attend: Option<Attend>,
}

/// A baseline-only program, for tests.
#[cfg(test)]
pub(crate) const BASELINE: Program =
    Program { about: "", models: llm_run::models::BASELINE, attend: None };

/// One with everything that may go beyond it, for tests.
#[cfg(test)]
pub(crate) const EVERYTHING: Program =
    Program { models: Models { options: ALL_OPTIONS, ..BASELINE.models }, ..BASELINE };
