//! Writing text: one token after the other, drawn from the model's distribution.

use crate::autograd::no_grad;
use crate::error::{Error, Result, TokenId};
use crate::model::TinyGPT;
use crate::util::rng::stream;
use rand::Rng;
use std::ops::ControlFlow;

/// How the next token is chosen.
#[derive(Clone, Debug)]
pub struct Sampling {
    /// Logits are divided by it; 0 takes the most likely token (greedy).
    pub temperature: f32,
    /// Only this many most likely tokens; 0: all.
    pub top_k: usize,
    /// Of the draws: the i-th token's draw is a function of (seed, i).
    pub seed: u64,
    /// `[V]`: tokens that may come; empty: all.
    pub allowed: Vec<bool>,
}

impl Sampling {
    /// Are the settings within their ranges?
    ///
    /// # Errors
    /// [`Error::Config`] naming the setting.
    pub fn check(&self) -> Result<()> {
        if self.temperature >= 0.0 && self.temperature.is_finite() {
            return Ok(());
        }
        Err(Error::config("temp", format!("{} is not 0 or more", self.temperature)))
    }

    /// Tokens with their probabilities after temperature, top-k and the allowed set, the most
    /// likely first. Greedy choice gives the first all.
    ///
    /// # Errors
    /// [`Error::Logits`] when a logit is not finite or nothing is allowed.
    pub fn distribution(&self, logits: &[f32]) -> Result<Vec<(TokenId, f64)>> {
        if let Some(bad) = logits.iter().find(|x| !x.is_finite()) {
            return Err(Error::Logits { value: *bad });
        }
        let mut order: Vec<(TokenId, f32)> = logits
            .iter()
            .enumerate()
            .filter(|(i, _)| self.allowed.get(*i).copied().unwrap_or(self.allowed.is_empty()))
            .map(|(i, &x)| (i as TokenId, x))
            .collect();
        // Equal logits keep the order of their numbers, so the result is one.
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let keep = match (self.temperature == 0.0, self.top_k) {
            (true, _) => 1,
            (false, 0) => order.len(),
            (false, k) => k.min(order.len()),
        };
        order.truncate(keep);
        let max = order.first().ok_or(Error::Logits { value: f32::NEG_INFINITY })?.1;
        let t = if self.temperature == 0.0 { 1.0 } else { f64::from(self.temperature) };
        let weight = |x: f32| (f64::from(x - max) / t).exp();
        let sum: f64 = order.iter().map(|&(_, x)| weight(x)).sum();
        Ok(order.into_iter().map(|(id, x)| (id, weight(x) / sum)).collect())
    }

    /// Draws the `index`-th token.
    ///
    /// # Errors
    /// As [`Sampling::distribution`].
    pub fn draw(&self, logits: &[f32], index: u64) -> Result<TokenId> {
        let distribution = self.distribution(logits)?;
        let mut left = stream(self.seed, b"sample\0\0", index, 0).random::<f64>();
        for &(id, p) in &distribution {
            left -= p;
            if left < 0.0 {
                return Ok(id);
            }
        }
        // Rounding may leave a crumb above the sum of all: the last token's.
        Ok(distribution.last().map_or(0, |&(id, _)| id))
    }
}

/// Logits of the token that follows `tokens`; of a long text the last `seq_len` tokens count.
///
/// # Shapes
/// Result `[V]`.
///
/// # Errors
/// [`Error::Shape`] when `tokens` is empty, [`Error::TokenOutOfRange`].
pub fn next_logits(model: &TinyGPT, tokens: &[TokenId]) -> Result<Vec<f32>> {
    let window = &tokens[tokens.len().saturating_sub(model.config().seq_len)..];
    let logits = no_grad(|| model.logits(window, [1, window.len()]))?;
    let v = model.config().vocab_size;
    Ok(logits.data()[(window.len() - 1) * v..].to_vec())
}

/// Continues `prompt` by `n` tokens and hands each to `on_token`, which may stop early.
///
/// # Errors
/// [`Error::Shape`] when the prompt is empty, [`Error::TokenOutOfRange`], [`Error::Logits`].
pub fn generate(
    model: &TinyGPT,
    prompt: &[TokenId],
    n: usize,
    sampling: &Sampling,
    mut on_token: impl FnMut(TokenId) -> ControlFlow<()>,
) -> Result<Vec<TokenId>> {
    sampling.check()?;
    let mut tokens = prompt.to_vec();
    for index in 0..n {
        let logits = next_logits(model, &tokens)?;
        let next = sampling.draw(&logits, index as u64)?;
        tokens.push(next);
        if on_token(next).is_break() {
            break;
        }
    }
    Ok(tokens.split_off(prompt.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampling(temperature: f32, top_k: usize) -> Sampling {
        Sampling { temperature, top_k, seed: 1, allowed: Vec::new() }
    }

    #[test]
    fn distributions() {
        let logits = [0.0, 2.0, 1.0, 2.0];
        let all = sampling(1.0, 0).distribution(&logits).unwrap();
        assert_eq!(all.iter().map(|p| p.0).collect::<Vec<_>>(), [1, 3, 2, 0]);
        assert!((all.iter().map(|p| p.1).sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((all[2].1 / all[0].1 - (-1f64).exp()).abs() < 1e-9);
        assert_eq!(sampling(0.0, 0).distribution(&logits).unwrap(), [(1, 1.0)]);
        assert_eq!(sampling(1.0, 2).distribution(&logits).unwrap().len(), 2);
        let only = Sampling { allowed: vec![true, false, false, false], ..sampling(1.0, 0) };
        assert_eq!(only.distribution(&logits).unwrap(), [(0, 1.0)]);
        assert!(sampling(1.0, 0).distribution(&[0.0, f32::NAN]).is_err());
        assert!(sampling(-1.0, 0).check().is_err() && sampling(f32::NAN, 0).check().is_err());
    }

    #[test]
    fn draws_follow_the_distribution() {
        let logits = [0.0f32, (3.0f32).ln()]; // 1/4, 3/4
        let s = sampling(1.0, 0);
        let ones = (0..4000).filter(|&i| s.draw(&logits, i).unwrap() == 1).count();
        assert!((2900..3100).contains(&ones), "{ones}");
        assert_eq!(s.draw(&logits, 7).unwrap(), s.draw(&logits, 7).unwrap());
    }
}
