//! Loss and accuracy over many windows, without gradients.

use crate::autograd::no_grad;
use crate::base::{Error, Result, TokenId};
use crate::buffer::Buffer;
use crate::data::{TokenDataset, Window, Windows};
use crate::kernels::cross_entropy::{log_sum_exp, row_losses};
use crate::model::TinyGPT;
use crate::tensor::Tensor;
use std::ops::ControlFlow;

/// Means over all scored tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evaluation {
    /// Mean −ln p of the tokens that came, in nats.
    pub loss: f64,
    /// Share of tokens that were the model's first choice.
    pub accuracy: f64,
    /// Number of scored tokens.
    pub tokens: u64,
}

impl Evaluation {
    /// Refuses a loss that is not a finite number: it says that the state after `step` steps cannot
    /// be measured, and so cannot be the better one.
    ///
    /// # Errors
    /// [`Error::Unusable`].
    pub fn check(&self, step: u64) -> Result<()> {
        if self.loss.is_finite() {
            return Ok(());
        }
        Err(Error::Unusable { what: "the validation loss".into(), value: self.loss as f32, step })
    }

    /// e^loss: the number of equally likely tokens that would surprise as much.
    pub fn perplexity(&self) -> f64 {
        self.loss.exp()
    }

    /// loss / ln 2: the loss in bits.
    pub fn bits_per_token(&self) -> f64 {
        self.loss / std::f64::consts::LN_2
    }
}

/// What the model said about one window.
#[derive(Clone, Copy, Debug)]
pub struct Scored<'a> {
    /// Number of the window in the given list.
    pub window: usize,
    /// The tokens that stood before them.
    pub inputs: &'a [TokenId],
    /// The tokens that came, each the target of one position.
    pub targets: &'a [TokenId],
    /// For each scored token: −ln p, in nats.
    pub losses: &'a [f32],
    /// For each scored token: was it the model's first choice?
    pub right: &'a [bool],
    /// `[len, V]`: what the model said at each of these positions.
    pub logits: &'a [f32],
}

/// Scores all windows, `batch_size` at a time, and shows each to `seen`, which may stop early; the
/// means are then over what was scored.
///
/// Short windows are padded at their end; attention is causal, so padding changes nothing before
/// it, and it is not scored.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when a window is longer than the model's context,
/// [`Error::TokenOutOfRange`](crate::Error::TokenOutOfRange) for tokens outside its vocabulary;
/// what reading them says.
pub fn evaluate(
    model: &TinyGPT,
    data: &TokenDataset,
    windows: &Windows,
    batch_size: usize,
    mut seen: impl FnMut(Scored<'_>) -> ControlFlow<()>,
) -> Result<Evaluation> {
    let (mut total, mut right, mut tokens) = (0.0f64, 0u64, 0u64);
    let batch_size = batch_size.max(1);
    // One length for all, if possible that of training, so that every group takes the same
    // recycled storage.
    let longest = windows.longest();
    let t = longest.next_multiple_of(64).min(model.config().seq_len.max(longest));
    'all: for first in (0..windows.len()).step_by(batch_size) {
        let places = (first..windows.len()).take(batch_size);
        let group: Vec<Window> = places.filter_map(|i| windows.get(i)).collect();
        let scores = score(model, data, &group, t)?;
        for (i, w) in group.iter().enumerate() {
            let range = i * t..i * t + w.len;
            let v = model.config().vocab_size;
            let scored = Scored {
                window: first + i,
                inputs: &scores.inputs[range.clone()],
                targets: &scores.targets[range.clone()],
                losses: &scores.losses[range.clone()],
                right: &scores.right[range.clone()],
                logits: &scores.logits.data()[range.start * v..range.end * v],
            };
            total += scored.losses.iter().map(|&l| f64::from(l)).sum::<f64>();
            right += scored.right.iter().filter(|&&r| r).count() as u64;
            tokens += w.len as u64;
            if seen(scored).is_break() {
                break 'all;
            }
        }
    }
    let mean = |x: f64| if tokens == 0 { 0.0 } else { x / tokens as f64 };
    Ok(Evaluation { loss: mean(total), accuracy: mean(right as f64), tokens })
}

struct Scores {
    inputs: Vec<TokenId>,
    targets: Vec<TokenId>,
    losses: Vec<f32>,
    right: Vec<bool>,
    logits: Tensor,
}

fn score(model: &TinyGPT, data: &TokenDataset, group: &[Window], t: usize) -> Result<Scores> {
    let v = model.config().vocab_size;
    let clamp = |id: TokenId| id.min(v as TokenId - 1);
    let (mut inputs, mut targets) = (Vec::new(), Vec::new());
    for window in group {
        let tokens = data.tokens(window.start, t + 1)?;
        inputs.extend_from_slice(&tokens[..t]);
        targets.extend(tokens[1..].iter().copied().map(clamp));
    }
    let logits = no_grad(|| model.logits(&inputs, [group.len(), t]))?;
    let mut lse = Buffer::stale(inputs.len());
    log_sum_exp(&mut lse, logits.data(), v);
    let losses = row_losses(&lse, logits.data(), &targets, v).collect();
    let right = logits
        .data()
        .chunks_exact(v)
        .zip(&targets)
        .map(|(row, &target)| is_first_choice(row, target as usize))
        .collect();
    Ok(Scores { inputs, targets, losses, right, logits })
}

/// Is `target` the greatest logit (the first of equals)?
fn is_first_choice(row: &[f32], target: usize) -> bool {
    let mine = row[target];
    row[..target].iter().all(|&x| x < mine) && row[target + 1..].iter().all(|&x| x <= mine)
}
