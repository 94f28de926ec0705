//! What a model learns from in one go.

#[cfg(doc)]
use super::TinyGPT;
use crate::base::{TokenId, choices};
use crate::buffer;
use crate::kernels::cross_entropy;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// B windows of T tokens and the token that follows each position.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// `[B, T]`, flat.
    pub inputs: buffer::Tokens,
    /// `[B, T]`, flat: `inputs` moved by one; [`Batch::IGNORED`] where nothing is to be learned.
    pub targets: buffer::Tokens,
    /// `[B, T]`, flat: what each target's loss is multiplied by, such as the advantage of an answer; `None`: all
    /// by 1. It changes no count.
    pub weights: Option<Vec<f32>>,
    /// `[B, T]`.
    pub shape: [usize; 2],
    /// Where it comes from; dropout draws its masks from this.
    pub origin: Origin,
    /// N of the whole step, where its micro-batches may have unlike numbers of targets: those that count, or any
    /// number that their sum is to be divided by; `None`: each micro-batch counts the same.
    pub step_targets: Option<u64>,
}

/// The shape of a batch. An array `[B, T]` is one, too.
///
/// ```
/// use llm_core::model::BatchShape;
/// assert_eq!(BatchShape::from([4, 16]), BatchShape { batch_size: 4, seq_len: 16 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchShape {
    /// B: number of windows.
    pub batch_size: usize,
    /// T: tokens of a window.
    pub seq_len: usize,
}

impl From<[usize; 2]> for BatchShape {
    fn from([batch_size, seq_len]: [usize; 2]) -> BatchShape {
        BatchShape { batch_size, seq_len }
    }
}

/// In which order the windows of a text, or its documents, are learned. Conversations always come in passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum WindowOrder {
    /// Each is drawn from all: after a pass's worth of tokens 1/e of a text has not been seen.
    #[default]
    Random,
    /// Shuffled passes: none comes again before all others have come.
    Passes,
}

choices!(WindowOrder, Random = "random", Passes = "passes");

/// What decides a batch, and every other random choice about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Seed of the run.
    pub seed: u64,
    /// Steps done before.
    pub step: u64,
    /// Number of the first row within the step: not 0 for the later ones of several micro-batches.
    pub first_row: u64,
    /// Rows of the whole step, all micro-batches together; what is less than those of the batch itself
    /// stands for these.
    pub step_rows: u64,
    /// In which order windows come.
    pub order: WindowOrder,
}

impl Batch {
    /// A target that counts for nothing, such as a question's where only the answer is learned.
    pub const IGNORED: TokenId = cross_entropy::IGNORED;

    /// A batch of given tokens; inputs and targets are both `[B, T]`, flat.
    pub fn new(
        inputs: impl Into<buffer::Tokens>,
        targets: impl Into<buffer::Tokens>,
        shape: [usize; 2],
    ) -> Batch {
        let (inputs, targets) = (inputs.into(), targets.into());
        let (weights, origin, step_targets) = (None, Origin::default(), None);
        Batch { inputs, targets, weights, shape, origin, step_targets }
    }

    /// This batch with rows of `seq_len` tokens at least; what they lack is padding, which counts for
    /// nothing.
    pub fn padded(&self, seq_len: usize) -> Cow<'_, Batch> {
        let [b, t] = self.shape;
        if t == 0 || seq_len <= t || b * t != self.inputs.len() || b * t != self.targets.len() {
            return Cow::Borrowed(self);
        }
        let wide = |tokens: &[TokenId], with: TokenId| {
            let mut wide = buffer::Tokens::stale(b * seq_len);
            for (wide, row) in wide.chunks_exact_mut(seq_len).zip(tokens.chunks_exact(t)) {
                wide[..t].copy_from_slice(row);
                wide[t..].fill(with);
            }
            wide
        };
        let (inputs, targets) = (wide(&self.inputs, 0), wide(&self.targets, Batch::IGNORED));
        let weights = self.weights.as_ref().map(|weights| {
            let padded = |row: &[f32]| [row, &vec![0.0; seq_len - t]].concat();
            weights.chunks_exact(t).flat_map(padded).collect()
        });
        Cow::Owned(Batch { inputs, targets, weights, shape: [b, seq_len], ..*self })
    }

    /// How many targets count.
    pub fn counted(&self) -> usize {
        self.targets.iter().filter(|&&target| target != Batch::IGNORED).count()
    }

    /// The weight of its mean loss in that of a step of `micro_batches`: its part of the step's targets,
    /// 1 where all have the same number.
    pub fn share(&self, micro_batches: usize) -> f32 {
        match self.step_targets {
            Some(all) => (self.counted() as f64 / all as f64) as f32,
            None => 1.0 / micro_batches as f32,
        }
    }
}

/// What a loss is computed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Learning: with dropout.
    Training,
    /// Measuring: without.
    Evaluation,
}
