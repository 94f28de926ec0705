//! How the next token is chosen.
//!
//! The scores go through these steps, in the order that Hugging Face's `transformers` has them:
//! repetition penalty, temperature, top-k, top-p, min-p; then one token is drawn from what is left.

use crate::base::rng::stream;
use crate::base::{Error, Result, TokenId};
use crate::buffer::Preview;
use crate::message;
use rand::Rng;
use std::fmt;

/// How the next token is chosen. The default draws from the model's distribution as it is.
#[derive(Clone, PartialEq)]
pub struct Sampling {
    /// Logits are divided by it; 0 takes the most likely token (greedy).
    pub temperature: f32,
    /// Only this many most likely tokens; 0: all.
    pub top_k: usize,
    /// Only the fewest most likely tokens that together have this probability; 1: all.
    pub top_p: f32,
    /// Only tokens with at least this share of the most likely one's probability; 0: all.
    pub min_p: f32,
    /// Positive logits of tokens that occurred are divided by it, negative ones multiplied; 1: none
    /// are (Keskar et al., "CTRL").
    pub repetition_penalty: f32,
    /// How far back a token counts as occurred; 0: from the beginning.
    pub repeat_last_n: usize,
    /// Seed of the draws: the i-th token's draw is a function of (seed, sample, i).
    pub seed: u64,
    /// Which of several texts of the same seed, from 0.
    pub sample: u64,
    /// `[V]`: tokens that may come; empty: all.
    pub allowed: Vec<bool>,
}

impl fmt::Debug for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sampling { temperature, top_k, top_p, min_p, .. } = self;
        let Sampling { repetition_penalty, repeat_last_n, seed, sample, allowed, .. } = self;
        let mut fields = f.debug_struct("Sampling");
        fields.field("temperature", temperature).field("top_k", top_k).field("top_p", top_p);
        fields.field("min_p", min_p).field("repetition_penalty", repetition_penalty);
        fields.field("repeat_last_n", repeat_last_n).field("seed", seed).field("sample", sample);
        fields.field("allowed", &Preview(allowed)).finish()
    }
}

impl Default for Sampling {
    fn default() -> Sampling {
        Sampling {
            temperature: 1.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            repetition_penalty: 1.0,
            repeat_last_n: 0,
            seed: 0,
            sample: 0,
            allowed: Vec::new(),
        }
    }
}

/// A token that may come: its number, and its weight e^((x − max)/t).
type Candidate = (TokenId, f64);

impl Sampling {
    /// Always the most likely token.
    pub fn greedy() -> Sampling {
        Sampling { temperature: 0.0, ..Sampling::default() }
    }

    /// Validates each setting's range.
    ///
    /// # Errors
    /// [`Error::Config`] naming the setting.
    pub fn check(&self) -> Result<()> {
        let Sampling { temperature, top_p, min_p, repetition_penalty: penalty, .. } = *self;
        let fits = temperature >= 0.0 && temperature.is_finite();
        Error::unless(fits, "temperature", message!("{} is not 0 or more", temperature))?;
        let fits = top_p > 0.0 && top_p <= 1.0;
        Error::unless(fits, "top_p", message!("{} is not above 0 and at most 1", top_p))?;
        let within = (0.0..=1.0).contains(&min_p);
        Error::unless(within, "min_p", message!("{} is outside 0..=1", min_p))?;
        let fits = penalty > 0.0 && penalty.is_finite();
        Error::unless(fits, "repetition_penalty", message!("{} is not above 0", penalty))
    }

    /// Tokens that may follow `so_far`, with their probabilities, the most likely first. Greedy
    /// choice gives the first all.
    ///
    /// # Errors
    /// [`Error::Logits`] when a logit is NaN or +∞, or no allowed one is above −∞, which stands for a
    /// token that never comes.
    pub fn distribution(&self, logits: &[f32], so_far: &[TokenId]) -> Result<Vec<(TokenId, f64)>> {
        let mut left = self.candidates(logits, so_far)?;
        let sum: f64 = left.iter().map(|c| c.1).sum();
        left.iter_mut().for_each(|c| c.1 /= sum);
        left.sort_by(likelier);
        Ok(left)
    }

    /// The `n` most likely tokens with their probabilities, after temperature and before any filter or
    /// draw.
    ///
    /// # Errors
    /// As [`Sampling::distribution`].
    pub fn likeliest(&self, logits: &[f32], n: usize) -> Result<Vec<(TokenId, f64)>> {
        let temperature = self.temperature.max(f32::MIN_POSITIVE);
        let all = Sampling { temperature, allowed: self.allowed.clone(), ..Sampling::default() };
        let mut found = all.distribution(logits, &[])?;
        found.truncate(n);
        Ok(found)
    }

    /// Draws the `index`-th token, the one that follows `so_far`.
    ///
    /// # Errors
    /// As [`Sampling::distribution`].
    pub fn draw(&self, logits: &[f32], so_far: &[TokenId], index: u64) -> Result<TokenId> {
        let left = self.candidates(logits, so_far)?;
        let sum: f64 = left.iter().map(|c| c.1).sum();
        let mut rest = stream(self.seed, b"sample\0\0", index, self.sample).random::<f64>() * sum;
        for &(id, weight) in &left {
            rest -= weight;
            if rest < 0.0 {
                return Ok(id);
            }
        }
        // Rounding may leave a crumb above the sum of all: the last token's.
        Ok(left.last().map_or(0, |&(id, _)| id))
    }

    /// What is left after all filters, by number, so that sums do not depend on how it was found.
    fn candidates(&self, logits: &[f32], so_far: &[TokenId]) -> Result<Vec<Candidate>> {
        if let Some(bad) = logits.iter().find(|x| x.is_nan() || **x == f32::INFINITY) {
            return Err(Error::Logits { value: *bad });
        }
        let allowed = |i: usize| self.allowed.get(i).copied().unwrap_or(self.allowed.is_empty());
        let possible = |&(i, &x): &(usize, &f32)| allowed(i) && x > f32::NEG_INFINITY;
        let scores = logits.iter().enumerate().filter(possible);
        let scores = scores.map(|(i, &x)| (i as TokenId, f64::from(x)));
        if self.temperature == 0.0 && self.repetition_penalty == 1.0 {
            // Without a list: for a large vocabulary making one takes as long as some layers.
            let first = scores.reduce(|a, b| if likelier(&a, &b).is_le() { a } else { b });
            return Ok(vec![(first.ok_or(NOTHING_ALLOWED)?.0, 1.0)]);
        }
        let mut left: Vec<Candidate> = scores.collect();
        self.penalise(&mut left, so_far);
        let first = *left.iter().min_by(|a, b| likelier(a, b)).ok_or(NOTHING_ALLOWED)?;
        if self.temperature == 0.0 {
            return Ok(vec![(first.0, 1.0)]);
        }
        let weight = |x: f64| libm::exp((x - first.1) / f64::from(self.temperature));
        left.iter_mut().for_each(|c| c.1 = weight(c.1));
        if self.top_k > 0 {
            keep_most_likely(&mut left, self.top_k);
        }
        if self.top_p < 1.0 {
            keep_nucleus(&mut left, f64::from(self.top_p));
        }
        left.retain(|c| c.1 >= f64::from(self.min_p)); // the most likely one has weight 1
        left.sort_unstable_by_key(|c| c.0);
        Ok(left)
    }

    fn penalise(&self, left: &mut [Candidate], so_far: &[TokenId]) {
        if self.repetition_penalty == 1.0 {
            return;
        }
        let from = match self.repeat_last_n {
            0 => 0,
            n => so_far.len().saturating_sub(n),
        };
        let mut seen = so_far[from..].to_vec();
        seen.sort_unstable();
        seen.dedup();
        let penalty = f64::from(self.repetition_penalty);
        for token in seen {
            if let Ok(i) = left.binary_search_by_key(&token, |c| c.0) {
                left[i].1 = if left[i].1 > 0.0 { left[i].1 / penalty } else { left[i].1 * penalty };
            }
        }
    }
}

/// What is said when every token was excluded.
const NOTHING_ALLOWED: Error = Error::Logits { value: f32::NEG_INFINITY };

/// The most likely first; equals in the order of their numbers, so the result is one.
fn likelier(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}

/// The `k` most likely ones, in any order.
fn keep_most_likely(left: &mut Vec<Candidate>, k: usize) {
    if k < left.len() {
        left.select_nth_unstable_by(k - 1, likelier);
        left.truncate(k);
    }
}

/// The fewest most likely ones that have `p` of the whole weight. Only as many as are needed get
/// sorted: usually a few of tens of thousands.
fn keep_nucleus(left: &mut Vec<Candidate>, p: f64) {
    left.sort_unstable_by_key(|c| c.0);
    let enough = p * left.iter().map(|c| c.1).sum::<f64>();
    let mut sorted = 256;
    loop {
        let n = sorted.min(left.len());
        if n < left.len() {
            left.select_nth_unstable_by(n - 1, likelier);
        }
        left[..n].sort_unstable_by(likelier);
        let mut sum = 0.0;
        let reached = left[..n].iter().position(|c| {
            sum += c.1;
            sum >= enough
        });
        match reached {
            Some(last) => return left.truncate(last + 1),
            None if n == left.len() => return,
            None => sorted *= 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ids(sampling: &Sampling, logits: &[f32], so_far: &[TokenId]) -> Vec<TokenId> {
        let all = sampling.distribution(logits, so_far).unwrap();
        assert!((all.iter().map(|p| p.1).sum::<f64>() - 1.0).abs() < 1e-12);
        all.into_iter().map(|p| p.0).collect()
    }

    #[test]
    fn each_filter_keeps_what_it_says() {
        let logits = [0.0, 2.0, 1.0, 2.0];
        let plain = Sampling::default();
        let all = plain.distribution(&logits, &[]).unwrap();
        assert!((all[2].1 / all[0].1 - (-1f64).exp()).abs() < 1e-9);
        assert_eq!(ids(&plain, &logits, &[]), [1, 3, 2, 0]);
        assert_eq!(Sampling::greedy().distribution(&logits, &[]).unwrap(), [(1, 1.0)]);
        assert_eq!(ids(&Sampling { top_k: 2, ..plain.clone() }, &logits, &[]), [1, 3]);
        // Half of the weight needs two tokens; with four fifths of it come three.
        assert_eq!(ids(&Sampling { top_p: 0.5, ..plain.clone() }, &logits, &[]), [1, 3]);
        assert_eq!(ids(&Sampling { top_p: 0.8, ..plain.clone() }, &logits, &[]), [1, 3, 2]);
        assert_eq!(ids(&Sampling { top_p: 1e-9, ..plain.clone() }, &logits, &[]), [1]);
        // e⁻¹ = 0.368 of the first.
        assert_eq!(ids(&Sampling { min_p: 0.36, ..plain.clone() }, &logits, &[]), [1, 3, 2]);
        assert_eq!(ids(&Sampling { min_p: 0.37, ..plain.clone() }, &logits, &[]), [1, 3]);
        let only = Sampling { allowed: vec![true, false, true, false], ..plain.clone() };
        assert_eq!(ids(&only, &logits, &[]), [2, 0]);
        let none = Sampling { allowed: vec![false; 4], ..plain.clone() };
        assert!(matches!(none.draw(&logits, &[], 0), Err(Error::Logits { .. })));
        assert!(plain.distribution(&[0.0, f32::NAN], &[]).is_err());
        assert!(plain.distribution(&[0.0, f32::INFINITY], &[]).is_err());
    }

    #[test]
    fn a_score_of_minus_infinity_forbids_its_token_and_no_other() {
        let never = f32::NEG_INFINITY;
        let logits = [never, 1.0, never, 0.0];
        let plain = Sampling::default();
        let penalty = Sampling { repetition_penalty: 2.0, ..plain.clone() };
        let only = Sampling { allowed: vec![true, false, true, true], ..plain.clone() };
        assert_eq!(ids(&plain, &logits, &[]), [1, 3]);
        assert_eq!(ids(&penalty, &logits, &[0, 2]), [1, 3]);
        assert_eq!(
            ids(&Sampling { top_k: 3, top_p: 0.999, ..plain.clone() }, &logits, &[]),
            [1, 3]
        );
        assert_eq!(ids(&only, &logits, &[]), [3]);
        assert_eq!(Sampling::greedy().draw(&logits, &[], 0).unwrap(), 1);
        for s in [plain, penalty, only, Sampling::greedy()] {
            let refused = s.draw(&[never, 1.0, never, never][..1], &[], 0).unwrap_err();
            assert!(refused.to_string().ends_with("no token is allowed"), "{refused}");
        }
    }

    #[test]
    fn what_occurred_becomes_less_likely() {
        let logits = [3.0, -1.0, 2.0];
        let s = Sampling { repetition_penalty: 2.0, ..Sampling::default() };
        let p = |so_far: &[TokenId]| -> Vec<f64> {
            let mut all = s.distribution(&logits, so_far).unwrap();
            all.sort_by_key(|c| c.0);
            all.into_iter().map(|c| c.1.ln()).collect()
        };
        let (before, after) = (p(&[]), p(&[1, 0, 0, 1]));
        // Differences of log-probabilities are those of the logits: 3/2, −1·2, 2.
        assert!((before[0] - before[2] - 1.0).abs() < 1e-9);
        assert!((after[0] - after[2] + 0.5).abs() < 1e-9);
        assert!((after[1] - after[2] + 4.0).abs() < 1e-9);
        let near = Sampling { repeat_last_n: 1, ..s };
        assert_eq!(
            near.distribution(&logits, &[0, 2]).unwrap(),
            near.distribution(&logits, &[2]).unwrap()
        );
    }

    #[test]
    fn draws_follow_the_distribution() {
        let logits = [0.0f32, (3.0f32).ln()]; // 1/4, 3/4
        let s = Sampling { seed: 1, ..Sampling::default() };
        let ones = (0..4000).filter(|&i| s.draw(&logits, &[], i).unwrap() == 1).count();
        assert!((2900..3100).contains(&ones), "{ones}");
        assert_eq!(s.draw(&logits, &[], 7).unwrap(), s.draw(&logits, &[], 7).unwrap());
        let second = Sampling { sample: 1, ..s.clone() };
        let draws = |s: &Sampling| -> Vec<TokenId> {
            (0..64).map(|i| s.draw(&logits, &[], i).unwrap()).collect()
        };
        assert_ne!(draws(&s), draws(&second));
    }

    #[test]
    fn settings_outside_their_ranges_are_named() {
        let d = Sampling::default;
        for (wrong, name) in [
            (Sampling { temperature: -1.0, ..d() }, "temperature"),
            (Sampling { temperature: f32::NAN, ..d() }, "temperature"),
            (Sampling { top_p: 0.0, ..d() }, "top_p"),
            (Sampling { top_p: 1.5, ..d() }, "top_p"),
            (Sampling { top_p: f32::NAN, ..d() }, "top_p"),
            (Sampling { min_p: -0.1, ..d() }, "min_p"),
            (Sampling { repetition_penalty: 0.0, ..d() }, "repetition_penalty"),
            (Sampling { repetition_penalty: f32::INFINITY, ..d() }, "repetition_penalty"),
        ] {
            let said = wrong.check().unwrap_err().to_string();
            assert!(said.starts_with(name), "{said}");
        }
        assert!(d().check().is_ok() && Sampling::greedy().check().is_ok());
    }

    proptest! {
        /// The nucleus by partial sorting is that of sorting everything, and every filter leaves a
        /// beginning of the sorted list.
        #[test]
        fn filters_leave_the_most_likely(
            logits in prop::collection::vec(-8.0f32..8.0, 1..2000),
            top_k in 0usize..50, top_p in 0.01f32..=1.0, min_p in 0.0f32..=1.0, t in 0.1f32..3.0,
        ) {
            let plain = Sampling { temperature: t, ..Sampling::default() };
            let all = plain.distribution(&logits, &[]).unwrap();
            let s = Sampling { top_k, top_p, min_p, ..plain };
            let some = s.distribution(&logits, &[]).unwrap();
            prop_assert!(!some.is_empty() && some.len() <= all.len());
            prop_assert!(some.iter().zip(&all).all(|(a, b)| a.0 == b.0));
            prop_assert!(top_k == 0 || some.len() <= top_k);
            let nucleus = Sampling { top_k: 0, min_p: 0.0, ..s.clone() };
            let n = nucleus.distribution(&logits, &[]).unwrap().len();
            let mass = |n: usize| all[..n].iter().map(|c| c.1).sum::<f64>();
            prop_assert!(mass(n) >= f64::from(top_p) - 1e-9);
            prop_assert!(mass(n - 1) < f64::from(top_p) + 1e-9);
            let drawn = s.draw(&logits, &[], 3).unwrap();
            prop_assert!(some.iter().any(|c| c.0 == drawn));
        }
    }
}
