//! A few questions that stay the same all the run, so that what changes is seen.

use super::Questions;
use super::writing::{answered, written};
use crate::log::{AnswerMoment, FirstAnswer, ShownAnswer};
use llm_core::generate::Sampling;
use llm_core::tokenizer::Tokenizer;
use llm_core::{Result, TinyGPT, TokenId};
use std::sync::Arc;

/// Questions whose answers are shown: the first of those that stay the same.
const SHOWN: usize = 3;
/// Answers of the start to each question that stays the same, and tokens of one that are kept.
const DRAWN: usize = 4;
const MOST_KEPT: usize = 64;

/// Questions that stay the same, and what the model answered at its start.
#[derive(Debug)]
pub struct Asking {
    questions: Arc<Questions>,
    tokenizer: Arc<dyn Tokenizer>,
    first: Vec<FirstAnswer>,
    /// The file does not have the answers of the start.
    unsaid: bool,
    /// The step of the last moment.
    last: Option<u64>,
}

impl Asking {
    /// Questions of a run, with what its folder has of earlier moments.
    pub fn new(
        questions: Arc<Questions>,
        tokenizer: Arc<dyn Tokenizer>,
        earlier: Vec<AnswerMoment>,
    ) -> Asking {
        let last = earlier.last().map(|of| of.step);
        let first: Vec<_> = earlier.into_iter().flat_map(|of| of.first).collect();
        Asking { questions, tokenizer, unsaid: first.is_empty(), first, last }
    }

    /// A new file is begun, which is told again what the model answered at its start.
    pub fn begin_again(&mut self) {
        self.unsaid = true;
    }

    /// What the model of after a step answers, once. That of step 0 is where the run began.
    ///
    /// # Errors
    /// What writing and reading an answer say.
    pub fn moment(
        &mut self,
        model: &TinyGPT,
        step: u64,
        seed: u64,
    ) -> Result<Option<AnswerMoment>> {
        if self.last.replace(step) == Some(step) {
            return Ok(None);
        }
        let Asking { questions, tokenizer, .. } = &*self;
        let (fixed, tokenizer) = (&questions.fixed, &**tokenizer);
        let shown = &fixed[..SHOWN.min(fixed.len())];
        let likeliest = written(model, shown, 1, |_| Sampling::greedy(), questions, tokenizer)?;
        let answer = |of: super::Attempt| {
            let question = questions.texts.get(&of.prompt).map_or("", |(question, _)| question);
            ShownAnswer::new(question, &of.text, of.is_right(questions))
        };
        let answers = likeliest.into_iter().map(answer).collect();
        if step == 0 {
            self.first = self.drawn(model, seed)?;
            self.unsaid = true;
        }
        let start_kl = if step == 0 { Some(0.0) } else { self.distance(model)? };
        let first = match std::mem::take(&mut self.unsaid) {
            true => self.first.clone(),
            false => Vec::new(),
        };
        Ok(Some(AnswerMoment { step, start_kl, answers, first }))
    }

    /// Answers of the model at its start.
    fn drawn(&self, model: &TinyGPT, seed: u64) -> Result<Vec<FirstAnswer>> {
        let Asking { questions, tokenizer, .. } = self;
        // Beyond the numbers of all answers that are learned from.
        let sampling =
            |row: usize| Sampling { seed, sample: !0 - row as u64, ..Sampling::default() };
        let all = written(model, &questions.fixed, DRAWN, sampling, questions, &**tokenizer)?;
        let first = |(row, of): (usize, super::Attempt)| {
            let tokens: Vec<_> = of.tokens.into_iter().take(MOST_KEPT).collect();
            let logprobs = logprobs(model, &of.prompt, &tokens)?;
            Ok(FirstAnswer { question: row / DRAWN, tokens, logprobs })
        };
        all.into_iter().enumerate().map(first).collect()
    }

    /// KL(start ‖ now), see [`AnswerMoment::start_kl`].
    fn distance(&self, model: &TinyGPT) -> Result<Option<f64>> {
        let (mut sum, mut tokens) = (0.0, 0usize);
        for of in &self.first {
            let Some(prompt) = self.questions.fixed.get(of.question) else { continue };
            for (now, start) in logprobs(model, prompt, &of.tokens)?.iter().zip(&of.logprobs) {
                let ln_r = f64::from(*now) - f64::from(*start);
                sum += ln_r.exp_m1() - ln_r;
                tokens += 1;
            }
        }
        Ok((tokens > 0).then(|| sum / tokens as f64))
    }
}

/// ln p of each token behind a prompt.
fn logprobs(model: &TinyGPT, prompt: &[TokenId], tokens: &[TokenId]) -> Result<Vec<f32>> {
    let mut all = model.log_probs(&answered(&[(prompt, tokens)]))?;
    Ok(all.split_off(prompt.len() - 1))
}
