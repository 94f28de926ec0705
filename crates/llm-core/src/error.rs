//! What can go wrong, as one enum: every message names the op, field or file, what was expected
//! and what came. Binaries decide how to print it and with which code to exit.

use std::path::PathBuf;

/// A token's number in the vocabulary.
pub type TokenId = u32;

/// `Result` with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that llm-core refuses. Messages are lower-case, without a full stop, and never
/// repeat their source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An op got a tensor of a shape that its equation does not allow.
    #[error("{op}: expected {expected}, got {got:?}")]
    Shape {
        /// The op that refused.
        op: &'static str,
        /// What it takes, in words and symbols.
        expected: String,
        /// The shape that came.
        got: Vec<usize>,
    },
    /// A setting outside its range, or two settings that contradict each other.
    #[error("{field}: {reason}")]
    Config {
        /// The field, as the command line and the struct call it.
        field: &'static str,
        /// Why it cannot be.
        reason: String,
    },
    /// A token number that the embedding has no row for.
    #[error("token {token} at position {position} is outside the vocabulary of {vocab_size}")]
    TokenOutOfRange {
        /// The number.
        token: TokenId,
        /// Where in the flattened batch.
        position: usize,
        /// Rows of the table.
        vocab_size: usize,
    },
    /// A character that is not in a tokenizer's vocabulary.
    #[error("{unit} at byte {position} is not in the model's vocabulary")]
    UnknownUnit {
        /// What it is, escaped.
        unit: String,
        /// Its place in the text.
        position: u64,
    },
    /// A tokenizer cannot be made.
    #[error("{kind} tokenizer: {reason}")]
    Tokenizer {
        /// Which one, escaped.
        kind: String,
        /// Why not.
        reason: String,
    },
    /// Too few tokens for one window.
    #[error("{what} has {len} tokens, but a window of {seq_len} needs at least {needed}")]
    DataTooSmall {
        /// Which part of the data.
        what: &'static str,
        /// Tokens there.
        len: u64,
        /// Window length.
        seq_len: usize,
        /// Tokens needed.
        needed: u64,
    },
    /// `backward` was called on something that is not a single recorded number.
    #[error("backward: {reason}")]
    Backward {
        /// Why there is nothing to differentiate.
        reason: &'static str,
    },
    /// A gradient is not the derivative of the value it belongs to.
    #[error("gradient of input {input} is {analytic:e}, differences of the value say {numeric:e}")]
    Gradient {
        /// Which input of the checked function.
        input: usize,
        /// What backward gave, along the tried direction.
        analytic: f64,
        /// What central differences gave.
        numeric: f64,
    },
    /// The loss or a gradient is not a finite number. The optimizer step was not taken.
    #[error("{what} is {value} at step {step} (lr {lr:e}, gradient norm {grad_norm})")]
    Diverged {
        /// `loss`, or the name of the first parameter with such a gradient.
        what: String,
        /// The offending value.
        value: f32,
        /// The step that was not taken.
        step: u64,
        /// Learning rate of that step.
        lr: f32,
        /// Global gradient norm of that step.
        grad_norm: f32,
    },
    /// No next token can be drawn.
    #[error("cannot choose a next token: {}", if .value.is_nan() || *.value == f32::INFINITY {
        format!("the model's score is {value}, its weights are not usable")
    } else {
        "no token is allowed".to_string()
    })]
    Logits {
        /// The offending score; −∞ when nothing was left to choose from.
        value: f32,
    },
    /// More memory than there is would be needed.
    #[error(
        "needs about {} of memory, {} available",
        crate::util::bytes(*.needed),
        crate::util::bytes(*.available)
    )]
    Memory {
        /// Estimated bytes.
        needed: u64,
        /// Bytes that can be had.
        available: u64,
    },
    /// A file operation failed.
    #[error("cannot {action} '{}'", .path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A file is not a checkpoint that this program can use.
    #[error("checkpoint '{}'", .path.display())]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: crate::checkpoint::CheckpointError,
    },
}

impl Error {
    /// The shape error, in one call.
    pub fn shape(op: &'static str, expected: impl Into<String>, got: &[usize]) -> Error {
        Error::Shape { op, expected: expected.into(), got: got.to_vec() }
    }

    /// The tokenizer error, in one call.
    pub fn tokenizer(kind: &str, reason: impl Into<String>) -> Error {
        Error::Tokenizer { kind: kind.escape_default().to_string(), reason: reason.into() }
    }

    /// The settings error, in one call.
    pub fn config(field: &'static str, reason: impl Into<String>) -> Error {
        Error::Config { field, reason: reason.into() }
    }
}
