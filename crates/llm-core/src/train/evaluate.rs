//! Loss and accuracy over many windows, without gradients.

use super::work::{OneProcess, Work};
use crate::autograd::no_grad;
use crate::base::{Error, Result, TokenId};
use crate::buffer::Buffer;
use crate::data::{TokenDataset, Window, Windows};
use crate::kernels::cross_entropy::{log_sum_exp, row_losses};
use crate::message;
use crate::model::{Batch, TinyGPT};
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
        let (what, value) = (message!("the validation loss"), self.loss as f32);
        if self.loss.is_finite() { Ok(()) } else { Err(Error::Unusable { what, value, step }) }
    }

    /// e^loss: the number of equally likely tokens that would surprise as much.
    pub fn perplexity(&self) -> f64 {
        libm::exp(self.loss)
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
    /// The tokens that came, each the target of one position; [`Batch::IGNORED`] where one does not
    /// count.
    pub targets: &'a [TokenId],
    /// For each scored token: −ln p, in nats.
    pub losses: &'a [f32],
    /// For each scored token: whether it was the model's first choice.
    pub right: &'a [bool],
    /// `[len, V]`: what the model said at each of these positions; empty where several processes or a
    /// device score, and of a model with an adapter, whose scores are never there together.
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
    seen: impl FnMut(Scored<'_>) -> ControlFlow<()>,
) -> Result<Evaluation> {
    evaluate_together(&mut OneProcess, model, data, windows, batch_size, seen)
}

/// [`evaluate`] with its groups of `batch_size` windows dealt out to those who work. Each of several
/// ranks is shown all windows in their order, without logits, and gets the means that one process
/// would get, to the bit. When `seen` of one stops, all stop, at most two groups a rank later.
///
/// # Errors
/// As [`evaluate`], and [`Error::Crew`](crate::Error::Crew).
pub fn evaluate_together(
    work: &mut dyn Work,
    model: &TinyGPT,
    data: &TokenDataset,
    windows: &Windows,
    batch_size: usize,
    mut seen: impl FnMut(Scored<'_>) -> ControlFlow<()>,
) -> Result<Evaluation> {
    let (rank, size) = (work.rank(), work.size());
    let batch_size = batch_size.max(1);
    // One length for all, if possible that of training, so that every group takes the same
    // recycled storage.
    let longest = windows.longest();
    let t = longest.next_multiple_of(64).min(model.config().seq_len.max(longest));
    let v = model.config().vocab_size;
    let mut sum = Sums::default();
    let mut stop = false;
    for round in (0..windows.len()).step_by(batch_size * size) {
        let group = |member: usize| -> Vec<Window> {
            let first = round + member * batch_size;
            (first..windows.len()).take(batch_size).filter_map(|i| windows.get(i)).collect()
        };
        let mine = group(rank);
        let scores = if mine.is_empty() { None } else { Some(score(work, model, data, &mine, t)?) };
        let places = batch_size * t;
        let all = exchange(work, scores.as_ref().filter(|_| size > 1), places, stop)?;
        if all.iter().any(|of| of.stop) {
            break;
        }
        for member in 0..size {
            let theirs = group(member);
            let (losses, right) = match (&scores, all.get(member)) {
                (_, Some(of)) => (&of.losses, &of.right),
                (Some(scores), None) => (&scores.losses, &scores.right),
                (None, None) => break,
            };
            for (i, w) in theirs.iter().enumerate() {
                let range = i * t..i * t + w.len;
                let tokens = data.tokens(w.start, w.len + 1)?;
                let own = scores.as_ref().filter(|_| size == 1).and_then(|s| s.logits.as_ref());
                let scored = Scored {
                    window: round + member * batch_size + i,
                    inputs: &tokens[..w.len],
                    targets: &data.as_targets(w.start + 1, &tokens[1..]),
                    losses: &losses[range.clone()],
                    right: &right[range.clone()],
                    logits: own.map_or(&[], |of| &of.data()[range.start * v..range.end * v]),
                };
                sum.add(&scored);
                stop |= seen(scored).is_break();
                if stop && size == 1 {
                    return Ok(sum.means());
                }
            }
        }
    }
    Ok(sum.means())
}

/// What was scored so far, for scoring in several calls: windows one after the other come to
/// the means of one call, to the bit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    loss: f64,
    right: u64,
    tokens: u64,
}

impl Sums {
    /// Adds a window.
    pub fn add(&mut self, scored: &Scored<'_>) {
        let counts = |place: &usize| scored.targets[*place] != Batch::IGNORED;
        let places = || (0..scored.targets.len()).filter(counts);
        self.loss += places().map(|i| f64::from(scored.losses[i])).sum::<f64>();
        self.right += places().filter(|&i| scored.right[i]).count() as u64;
        self.tokens += places().count() as u64;
    }

    /// The means; 0 of nothing.
    pub fn means(&self) -> Evaluation {
        let Sums { loss, right, tokens } = *self;
        let mean = |x: f64| if tokens == 0 { 0.0 } else { x / tokens as f64 };
        Evaluation { loss: mean(loss), accuracy: mean(right as f64), tokens }
    }
}

/// What a rank found out about its group.
struct Found {
    losses: Vec<f32>,
    right: Vec<bool>,
    /// Whether it was asked to stop before the end.
    stop: bool,
}

/// What all ranks found, each for as many `places`; nothing where there is one.
fn exchange(
    work: &mut dyn Work,
    mine: Option<&Scores>,
    places: usize,
    stop: bool,
) -> Result<Vec<Found>> {
    if work.size() == 1 {
        return Ok(Vec::new());
    }
    const EACH: usize = size_of::<f32>() + 1;
    let mut bytes = vec![0u8; EACH * places + 1];
    if let Some(scores) = mine {
        let found = scores.losses.iter().zip(&scores.right);
        for (place, (loss, &right)) in bytes.chunks_exact_mut(EACH).zip(found) {
            place[..EACH - 1].copy_from_slice(&loss.to_le_bytes());
            place[EACH - 1] = u8::from(right);
        }
    }
    bytes[EACH * places] = u8::from(stop);
    let all = work.gather(&bytes)?;
    let found = all.chunks_exact(bytes.len()).map(|bytes| {
        let rows = bytes[..EACH * places].as_chunks::<EACH>().0;
        let loss = |[a, b, c, d, _]: &[u8; EACH]| f32::from_le_bytes([*a, *b, *c, *d]);
        Found {
            losses: rows.iter().map(loss).collect(),
            right: rows.iter().map(|[.., right]| *right != 0).collect(),
            stop: bytes[EACH * places] != 0,
        }
    });
    Ok(found.collect())
}

struct Scores {
    losses: Vec<f32>,
    right: Vec<bool>,
    /// Where the processor has them.
    logits: Option<Tensor>,
}

fn score(
    work: &mut dyn Work,
    model: &TinyGPT,
    data: &TokenDataset,
    group: &[Window],
    t: usize,
) -> Result<Scores> {
    let v = model.config().vocab_size;
    let (mut inputs, mut targets, mut counted) = (Vec::new(), Vec::new(), Vec::new());
    for window in group {
        let tokens = data.tokens(window.start, t + 1)?;
        let scored = &tokens[..=window.len];
        if let Some(i) = scored.iter().position(|&token| token as usize >= v) {
            let (token, position) = (scored[i], window.start + i);
            return Err(Error::TokenOutOfRange { token, position, vocab_size: v });
        }
        inputs.extend_from_slice(&tokens[..t]);
        targets.extend(tokens[1..].iter().map(|&id| clamp(id, v)));
        counted.extend_from_slice(&data.as_targets(window.start + 1, &tokens[1..=window.len]));
        counted.resize(inputs.len(), Batch::IGNORED);
    }
    let batch = Batch::new(inputs, targets, [group.len(), t]);
    if let Some((losses, right)) = work.score(model, &batch)? {
        return Ok(Scores { losses, right, logits: None });
    }
    if model.adapter().is_some() {
        let (mut losses, mut right) = (vec![0.0; counted.len()], vec![false; counted.len()]);
        let batch = Batch { targets: counted.clone().into(), ..batch };
        no_grad(|| {
            model.score_rows(&batch, |i, loss, scores| {
                losses[i] = loss;
                right[i] = is_first_choice(scores, counted[i] as usize);
            })
        })?;
        return Ok(Scores { losses, right, logits: None });
    }
    let Batch { inputs, targets, .. } = batch;
    let logits = no_grad(|| model.logits(&inputs, [group.len(), t]))?;
    let lse = Buffer::written(inputs.len(), |lse| log_sum_exp(lse, logits.data(), v));
    let losses = row_losses(&lse, logits.data(), &targets, v).collect();
    let rows = logits.data().chunks_exact(v).zip(targets.iter());
    let right = rows.map(|(row, &target)| is_first_choice(row, target as usize)).collect();
    Ok(Scores { losses, right, logits: Some(logits) })
}

/// A target that the model knows: what stands behind a window's end is not scored, whatever it is.
fn clamp(id: TokenId, vocab_size: usize) -> TokenId {
    id.min(vocab_size as TokenId - 1)
}

/// Whether `target` has the greatest logit (the first of equals).
fn is_first_choice(row: &[f32], target: usize) -> bool {
    let mine = row[target];
    row[..target].iter().all(|&x| x < mine) && row[target + 1..].iter().all(|&x| x <= mine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::model::AdapterSpec;
    use std::ops::ControlFlow::Continue;

    #[test]
    fn a_target_outside_the_vocabulary_is_refused_wherever_it_stands() {
        let model = TinyGPT::new(Config::new(50, 64, 8, 1), 1).unwrap();
        for place in [0, 1, 63, 64] {
            let mut tokens = vec![7; 65];
            tokens[place] = 5000;
            let data = TokenDataset::from_tokens(tokens);
            let refused = evaluate(&model, &data, &data.windows(64), 2, |_| Continue(()));
            let wanted = Error::TokenOutOfRange { token: 5000, position: place, vocab_size: 50 };
            assert_eq!(refused.unwrap_err().to_string(), wanted.to_string());
        }
    }

    /// An adapter that adds nothing yet changes nothing, though its scores are there only in pieces.
    #[test]
    fn pieces_of_scores_come_to_what_all_of_them_do() {
        let spec = AdapterSpec::uniform([("blocks.0.w_fc".into(), vec![32])], 2, 2.0);
        let tokens: Vec<TokenId> = (0..703).map(|i| i * i % 50).collect();
        let whole = TokenDataset::from_tokens(tokens.clone());
        // Conversations of 70 tokens, of which the last 30 are learned.
        let windows = (0..700).step_by(70).map(|start| Window { start, len: 69 }).collect();
        let learned = (0..703).map(|i| i % 70 >= 40).collect();
        let talk = TokenDataset::from_tokens(tokens).with_passages(windows, learned).unwrap();
        for data in [whole, talk] {
            for tied_head in [false, true] {
                let config = Config { tied_head, ..Config::new(50, 96, 8, 1) };
                let model = TinyGPT::new(config, 1).unwrap();
                let windows = data.windows(90);
                let found = |model: &TinyGPT| {
                    let mut seen = Vec::new();
                    let all = evaluate(model, &data, &windows, 5, |scored| {
                        let places = 0..scored.targets.len();
                        let places = places.filter(|&i| scored.targets[i] != Batch::IGNORED);
                        seen.extend(places.map(|i| (scored.losses[i], scored.right[i])));
                        Continue(())
                    });
                    (all.unwrap(), seen)
                };
                let before = found(&model);
                assert_eq!(found(&model.with_adapter(&spec, 1).unwrap()), before);
            }
        }
    }
}
