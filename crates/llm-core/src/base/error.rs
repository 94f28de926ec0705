//! What can go wrong, as one enum: every message names the op, field or file, what was expected
//! and what came. Binaries decide how to print it and with which code to exit.

use super::{Filling, IoAction, Message, TokenId, reason_of, sizes};
use crate::{message, says};
use std::fmt::Display;
use std::path::PathBuf;

/// `Result` with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that llm-core refuses. Messages are lower-case, without a full stop, and never
/// repeat their source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An op got a tensor of a shape that its equation does not allow.
    Shape {
        /// The op that refused.
        op: &'static str,
        /// The shapes that the op takes, in words and symbols.
        expected: String,
        /// The shape that came.
        got: Vec<usize>,
    },
    /// A setting outside its range, or two settings that contradict each other.
    Config {
        /// The field, as the struct calls it.
        field: &'static str,
        /// The cause.
        reason: Message,
    },
    /// A token number that the embedding has no row for.
    TokenOutOfRange {
        /// The token number.
        token: TokenId,
        /// Place in the flattened batch.
        position: usize,
        /// Rows of the table.
        vocab_size: usize,
    },
    /// A character that is not in a tokenizer's vocabulary.
    UnknownUnit {
        /// The character, escaped.
        unit: Message,
        /// Byte of the text at which it stands.
        position: u64,
    },
    /// A tokenizer cannot be made.
    Tokenizer {
        /// The kind of tokenizer, escaped.
        kind: String,
        /// The cause.
        reason: Message,
    },
    /// Text was given where tokens are numbers and nothing else.
    NumbersOnly,
    /// Too few tokens for one window.
    DataTooSmall {
        /// The part of the data, such as training data.
        what: Message,
        /// Number of tokens.
        len: u64,
        /// Window length.
        seq_len: usize,
        /// Tokens needed.
        needed: u64,
    },
    /// `backward` was called on something that is not a single recorded number.
    Backward {
        /// Why there is nothing to differentiate.
        reason: &'static str,
    },
    /// A gradient is not the derivative of the value it belongs to.
    Gradient {
        /// Which input of the checked function.
        input: usize,
        /// What backward gave, along the tried direction.
        analytic: f64,
        /// What central differences gave.
        numeric: f64,
    },
    /// The loss or a gradient is not a finite number. The optimizer step was not taken.
    Diverged {
        /// The loss, or the gradient of the first parameter that has such a one.
        what: Message,
        /// The offending value.
        value: f32,
        /// The step that was not taken.
        step: u64,
        /// Learning rate of that step.
        lr: f32,
        /// Global gradient norm of that step.
        grad_norm: f32,
    },
    /// A model that says nothing any more: a weight, a number of the optimizer, or what is computed
    /// from them is not finite. An earlier state, if there is one, is the one to go on with.
    Unusable {
        /// Name of the tensor, or what was computed.
        what: Message,
        /// The offending value.
        value: f32,
        /// Steps done, the one that led here included.
        step: u64,
    },
    /// A hook gave a step up before it was done; nothing has changed.
    Stopped {
        /// Steps done before.
        step: u64,
    },
    /// Members of a crew cannot go on together.
    Crew(super::crew_error::CrewError),
    /// A device that works on steps fails, or computes something else than the processor.
    Device(Message),
    /// A hook of a run failed.
    Hook(Box<dyn std::error::Error + Send + Sync>),
    /// No next token can be drawn.
    Logits {
        /// The offending score; −∞ when nothing was left to choose from.
        value: f32,
    },
    /// More memory than there is would be needed.
    Memory {
        /// Estimated need, in bytes.
        needed: u64,
        /// Memory that can be had, in bytes.
        available: u64,
    },
    /// A file operation failed.
    Io {
        /// The operation.
        action: IoAction,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A file is not a checkpoint that this program can use.
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: super::checkpoint_error::CheckpointError,
    },
}

// Without the [source](std::error::Error::source); `with_causes` has that too.
says! { Error {
    Shape { op, expected, got } = "{}: expected {}, got {}",
    Config { field, reason } => message!("{}: {}", Filling::Words(field.to_string()), reason),
    TokenOutOfRange { token, position, vocab_size } =
        "token {} at position {} is outside the vocabulary of {}",
    UnknownUnit { unit, position } = "{} at byte {} is not in the model's vocabulary",
    Tokenizer { kind, reason } = "{} tokenizer: {}",
    NumbersOnly = "ids tokenizer: the model was imported without one and knows token numbers only",
    DataTooSmall { what, len, seq_len, needed } =
        "{} has {} tokens, but a window of {} needs at least {}",
    Backward { reason } = "backward: {}",
    Gradient { input, analytic, numeric } =
        "gradient of input {} is {:e}, differences of the value say {:e}",
    Diverged { what, value, step, lr, grad_norm } =
        "{} is {} at step {} (lr {:e}, gradient norm {})",
    Unusable { step, what, value } = "the model is not usable after step {}: {} is {}",
    Stopped { step } = "stopped in the step after {}",
    Crew(e) => e.message(),
    Device(why) => why.clone(),
    Hook(own) => reason_of(own.as_ref()),
    Logits { value } => message!("cannot choose a next token: {}", Error::no_next(*value)),
    Memory { needed, available } => message!(
        "needs about {} of memory, {} available",
        sizes::bytes(*needed),
        sizes::bytes(*available)
    ),
    Io { action, path } => action.failed(path),
    Checkpoint { path } => message!("checkpoint '{}'", path.display()),
} }

impl Error {
    /// This error, found in a part of a text that begins at byte `start`, as one about the text.
    pub fn after(self, start: u64) -> Error {
        match self {
            Error::UnknownUnit { unit, position } => {
                Error::UnknownUnit { unit, position: position.saturating_add(start) }
            }
            other => other,
        }
    }

    /// Why no token is next, where the best score has this value.
    pub fn no_next(value: f32) -> Message {
        if value.is_nan() || value == f32::INFINITY {
            message!("the model's score is {}, its weights are not usable", value)
        } else {
            message!("no token is allowed")
        }
    }

    /// The shape error, in one call.
    pub fn shape(op: &'static str, expected: impl Into<String>, got: &[usize]) -> Error {
        Error::Shape { op, expected: expected.into(), got: got.to_vec() }
    }

    /// [`Error::Shape`] unless what it expects holds; the expectation is written for the error alone.
    pub fn unless_shaped(
        holds: bool,
        op: &'static str,
        expected: impl Display,
        got: &[usize],
    ) -> Result<()> {
        if holds { Ok(()) } else { Err(Error::shape(op, expected.to_string(), got)) }
    }

    /// [`Error::TokenOutOfRange`] of the first of these tokens that is not below `vocab_size`.
    pub(crate) fn unless_within(tokens: &[TokenId], vocab_size: usize) -> Result<()> {
        let outside = tokens.iter().position(|&token| token as usize >= vocab_size);
        let Some(position) = outside else { return Ok(()) };
        Err(Error::TokenOutOfRange { token: tokens[position], position, vocab_size })
    }

    /// The file error, in one call.
    pub fn io(action: IoAction, path: impl Into<PathBuf>, source: std::io::Error) -> Error {
        Error::Io { action, path: path.into(), source }
    }

    /// The tokenizer error, in one call.
    pub fn tokenizer(kind: &str, reason: impl Into<Message>) -> Error {
        Error::Tokenizer { kind: kind.escape_default().to_string(), reason: reason.into() }
    }

    /// The settings error, in one call.
    pub fn config(field: &'static str, reason: impl Into<Message>) -> Error {
        Error::Config { field, reason: reason.into() }
    }

    /// [`Error::config`] unless a condition on the setting holds.
    pub fn unless(holds: bool, field: &'static str, reason: impl Into<Message>) -> Result<()> {
        if holds { Ok(()) } else { Err(Error::config(field, reason)) }
    }
}

/// Every kind of error is caused by something that a caller can do.
#[cfg(test)]
mod tests {
    use super::super::memory;
    use super::*;
    use crate::checkpoint::Checkpoint;
    use crate::crew::micro_batches;
    use crate::data::{Batch, TokenDataset};
    use crate::generate::Sampling;
    use crate::tokenizer::{ByteTokenizer, CharTokenizer, IdsTokenizer, Tokenizer, from_spec};
    use crate::train::{
        Batches, Hooks, OneProcess, Pending, StepSum, Trainer, Update, Work, check_usable,
        train_step,
    };
    use crate::{AdamW, Config, Hyperparameters, Recipe, Tensor, TinyGPT, gradcheck};
    use ndarray::ArrayD;

    /// A number for every kind of error; a new kind does not compile until it has one here.
    fn number(error: &Error) -> usize {
        match error {
            Error::Shape { .. } => 0,
            Error::Config { .. } => 1,
            Error::TokenOutOfRange { .. } => 2,
            Error::DataTooSmall { .. } => 3,
            Error::Backward { .. } => 4,
            Error::Gradient { .. } => 5,
            Error::Diverged { .. } => 6,
            Error::Logits { .. } => 7,
            Error::Memory { .. } => 8,
            Error::Io { .. } => 9,
            Error::Checkpoint { .. } => 10,
            Error::UnknownUnit { .. } => 11,
            Error::Tokenizer { .. } => 12,
            Error::Stopped { .. } => 13,
            Error::Hook(_) => 14,
            Error::NumbersOnly => 15,
            Error::Unusable { .. } => 16,
            Error::Crew(_) => 17,
            Error::Device(_) => 18,
        }
    }
    const KINDS: usize = 19;

    /// y = 2x with the gradient of y = 3x.
    fn wrong(x: &Tensor) -> Result<Tensor> {
        let y: Vec<f32> = x.data().iter().map(|v| 2.0 * v).collect();
        let parent = x.parent();
        Ok(Tensor::from_op("wrong", x.shape(), y, &[&x.parent()], move |dy, grads| {
            grads.accumulate_zeroed(&parent, |dx| {
                dx.iter_mut().zip(dy.iter()).for_each(|(dx, dy)| *dx += 3.0 * dy);
            });
        }))
    }

    fn step_of(model: &mut TinyGPT, hooks: &mut dyn Hooks) -> Error {
        let mut adamw = AdamW::new(Hyperparameters::default()).unwrap();
        let batch = Batch::new(vec![0, 1], vec![1, 2], [1, 2]);
        let update = Update { step: 7, lr: 0.1, clip: 1.0 };
        train_step(model, &mut adamw, [Ok(batch)], update, &mut OneProcess, hooks).unwrap_err()
    }

    fn diverged() -> Error {
        let mut model = TinyGPT::new(Config::new(3, 2, 2, 1), 1).unwrap();
        model.wte.data_mut()[0] = f32::NAN;
        step_of(&mut model, &mut ())
    }

    fn unusable() -> Error {
        let mut trainer =
            Trainer::fresh(Config::new(3, 2, 2, 1), Recipe::new([1, 2], 1, 0.1)).unwrap();
        trainer.model.wte.data_mut()[0] = f32::NAN;
        check_usable((&trainer).into()).unwrap_err()
    }

    /// Gives every step up, or fails with an error of its own.
    struct Stops(bool);

    impl Hooks for Stops {
        fn interrupted(&mut self) -> bool {
            self.0
        }
        fn before_update(&mut self, _: &mut Pending<'_>) -> Result<()> {
            Err(Error::Hook("the hook's own".into()))
        }
    }

    /// A device that is lost.
    #[derive(Debug)]
    struct Lost;

    impl Work for Lost {
        fn gradients(&mut self, _: &TinyGPT, _: &mut Batches<'_>, _: u64) -> Result<StepSum> {
            Err(Error::Device("the card has fallen off".into()))
        }
    }

    fn lost() -> Error {
        let mut trainer =
            Trainer::fresh(Config::new(3, 2, 2, 1), Recipe::new([1, 2], 1, 0.1)).unwrap();
        let data = TokenDataset::from_bytes(vec![0, 1, 2, 0, 1]);
        trainer.step_with(&data, &mut Lost, &mut ()).unwrap_err()
    }

    fn stopped(stops: bool) -> Error {
        let mut model = TinyGPT::new(Config::new(3, 2, 2, 1), 1).unwrap();
        step_of(&mut model, &mut Stops(stops))
    }

    #[test]
    fn every_error_happens_and_reads_well() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("text");
        std::fs::write(&text, "once upon a time there was a cat that sat on a mat").unwrap();
        let missing = folder.path().join("missing");
        let greedy = Sampling { allowed: vec![false; 2], ..Sampling::greedy() };
        let x = Tensor::parameter(ArrayD::from_elem(vec![2, 3], 0.5));
        let mut all = vec![
            (Tensor::from_vec(&[2, 2], vec![0.0]).unwrap_err(), "expected"),
            (Config::new(256, 8, 0, 1).check().unwrap_err(), "d_model: "),
            (ByteTokenizer.decode(&[7, 256]).unwrap_err(), "token 256 at position 1"),
            (
                CharTokenizer::from_text(b"abc").unwrap().encode(b"ax").unwrap_err(),
                "(U+0078) at byte 1 is not",
            ),
            (IdsTokenizer::new(9).unwrap().encode(b"a").unwrap_err(), "token numbers only"),
            (from_spec("words", &[]).map(drop).unwrap_err(), "words tokenizer: "),
            (TokenDataset::from_bytes(vec![1]).batch(1, 0, [1, 4]).unwrap_err(), "has 1 tokens"),
            (Tensor::new(ArrayD::zeros(vec![])).backward().unwrap_err(), "backward: "),
            (gradcheck::check(&[x], 1, |x| wrong(&x[0])).unwrap_err(), "gradient of input 0"),
            (diverged(), "NaN at step 8"),
            (unusable(), "not usable after step 0: wte is NaN"),
            (lost(), "fallen off"),
            (stopped(true), "stopped in the step after 7"),
            (stopped(false), "the hook's own"),
            (micro_batches(0, 3, 8).unwrap_err(), "1, 2, 4 or 8 processes, not by 3"),
            (greedy.draw(&[0.0, 1.0], &[], 0).unwrap_err(), "no token is allowed"),
            (greedy.draw(&[f32::NAN, 1.0], &[], 0).unwrap_err(), "NaN"),
            (Checkpoint::load(&missing).unwrap_err(), "cannot read"),
            (Checkpoint::load(&text).unwrap_err(), "checkpoint '"),
        ];
        // Where nothing is known about memory, nothing is refused.
        match memory::require(u64::MAX - 1) {
            Err(e) => all.push((e, "needs about")),
            Ok(()) => all.push((Error::Memory { needed: 2, available: 1 }, "needs about")),
        }
        let mut seen = [false; KINDS];
        for (error, needle) in &all {
            let message = error.to_string();
            assert!(message.contains(needle), "{message:?} lacks {needle:?}");
            assert!(!message.ends_with('.') && !message.contains('\n'), "{message:?}");
            if let Some(source) = std::error::Error::source(error) {
                assert!(!message.contains(&source.to_string()), "{message:?}");
            }
            seen[number(error)] = true;
        }
        assert!(seen.iter().all(|&s| s), "{seen:?}");
    }
}
