//! What a binary is: its name, its attention. All that differs between the two trainers.

#[cfg(test)]
use llm_core::model::SingleHead;
use llm_core::{Attention, AttentionSpec, Error, Tensor};
use std::sync::Arc;

/// How many heads a program's models have.
#[derive(Clone, Copy, Debug)]
pub enum Heads {
    /// One; for more there is another program.
    One {
        /// The other program's name.
        other: &'static str,
    },
    /// As many as `--heads` says.
    Many {
        /// Without the flag.
        default: usize,
    },
}

/// Attention between the projections: `qkv [B, T, 3C]` and H to `[B, T, C]`.
pub type Attend = fn(&Tensor, usize) -> Result<Tensor, Error>;

/// A baseline-only program, for tests.
#[cfg(test)]
pub(crate) const BASELINE: Program = Program {
    name: "train-gpt",
    about: "",
    heads: Heads::One { other: "another" },
    with_heads: |_| Arc::new(SingleHead),
    options: &[],
    attend: None,
    from_spec: |spec| Ok(Arc::new(SingleHead::from_spec(spec)?)),
};

/// One with everything that may go beyond it, for tests.
#[cfg(test)]
pub(crate) const EVERYTHING: Program =
    Program { options: &["norm", "mlp", "mlp-bias", "positions"], ..BASELINE };

/// A binary's description of itself, for [`run`](crate::run).
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The name one types.
    pub name: &'static str,
    /// One line for `--help`.
    pub about: &'static str,
    /// Its heads.
    pub heads: Heads,
    /// The attention of a new model with H heads.
    pub with_heads: fn(usize) -> Arc<dyn Attention>,
    /// What its models may be beyond the baseline: flags of [`FURTHER`](crate::flags::FURTHER), by
    /// their names. Without the flag there is no such model: none is made, loaded or imported.
    pub options: &'static [&'static str],
    /// For `bench`; none where there is one head.
    pub attend: Option<Attend>,
    /// The attention that a checkpoint names; an error when this program does not have it.
    pub from_spec: fn(&AttentionSpec) -> Result<Arc<dyn Attention>, Error>,
}
