//! Writing text: one token after the other, drawn from the model's distribution.

mod decoder;
mod reader;
mod sampling;
mod stops;
mod text;
mod writers;

pub use decoder::Decoder;
pub use sampling::Sampling;
pub use stops::Stops;
pub use text::{Finish, Written, allowed, write_text};
pub use writers::Writers;

use crate::autograd::no_grad;
use crate::base::{Error, Result, TokenId};
use crate::buffer::Preview;
use crate::kernels::cross_entropy::log_sum_exp;
use crate::kernels::small::SmallKind;
use crate::message;
use crate::model::{Probe, TinyGPT};
use std::fmt;

/// A token that was drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The token number.
    pub token: TokenId,
    /// ln p of the token in the model's own distribution, before temperature and every other setting.
    pub logprob: f32,
}

/// Writes on from a prompt.
///
/// A model has T = `seq_len` positions. A longer text is seen through a window: the token after n
/// others follows from the tokens `window_start(n, T, slide)..n`, read as if the text began there.
/// With a slide of 1 these are always the last T, but each token past the T-th costs a pass over
/// the whole window, because positions are learned and all of them change. With a slide of S that
/// pass comes once in S tokens, and between T − S + 1 and T tokens are seen.
///
/// ```
/// use llm_core::generate::{Generator, Sampling};
/// use llm_core::{Config, TinyGPT};
///
/// let model = TinyGPT::new(Config::new(256, 64, 32, 2), 1)?;
/// let mut generator = Generator::new(&model, &b"once".map(u32::from), Sampling::greedy(), 1)?;
/// let first = generator.next_token()?;
/// generator.next_token()?;
/// assert_eq!(generator.tokens()[4], first.token);
/// assert_eq!(generator.written().len(), 2);
/// # Ok::<(), llm_core::Error>(())
/// ```
pub struct Generator<'m> {
    decoder: Decoder<'m>,
    sampling: Sampling,
    /// T: positions of the model.
    window: usize,
    slide: usize,
    /// The prompt, and what was written.
    tokens: Vec<TokenId>,
    prompt_len: usize,
    /// The first token that the decoder knows.
    start: usize,
    /// The scores after the prompt.
    of_prompt: Vec<f32>,
}

impl fmt::Debug for Generator<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Generator { decoder, sampling, tokens, .. } = self;
        let mut fields = f.debug_struct("Generator");
        fields.field("decoder", decoder).field("sampling", sampling);
        fields.field("tokens", &Preview(tokens)).finish_non_exhaustive()
    }
}

impl<'m> Generator<'m> {
    /// One that will continue `prompt`.
    ///
    /// # Errors
    /// [`Error::Config`] for settings outside their ranges, [`Error::Shape`] when the prompt is
    /// empty, [`Error::TokenOutOfRange`], [`Error::Memory`].
    pub fn new(
        model: &'m TinyGPT,
        prompt: &[TokenId],
        sampling: Sampling,
        slide: usize,
    ) -> Result<Generator<'m>> {
        Generator::with_weights(model, prompt, sampling, slide, None)
    }

    /// [`Generator::new`] with small weights, see [`Decoder::with_weights`].
    ///
    /// # Errors
    /// As [`Generator::new`]; [`Error::Config`] naming a matrix with a number that does not fit.
    pub fn with_weights(
        model: &'m TinyGPT,
        prompt: &[TokenId],
        sampling: Sampling,
        slide: usize,
        kind: Option<SmallKind>,
    ) -> Result<Generator<'m>> {
        sampling.check()?;
        let window = model.config().seq_len;
        let within = (1..=window).contains(&slide);
        Error::unless(within, "slide", message!("{} is outside 1..={}", slide, window))?;
        check_prompt(prompt, model.config().vocab_size)?;
        let decoder = Decoder::with_weights(model, kind)?;
        let (tokens, prompt_len) = (prompt.to_vec(), prompt.len());
        let start = window_start(prompt_len, window, slide);
        let of_prompt = Vec::new();
        Ok(Generator { decoder, sampling, window, slide, tokens, prompt_len, start, of_prompt })
    }

    /// This generator, with a probe that may change what is computed, see [`Decoder::with_probe`]. Positions
    /// are those of the window.
    pub fn with_probe(self, probe: &'m (dyn Probe + Sync)) -> Generator<'m> {
        Generator { decoder: self.decoder.with_probe(probe), ..self }
    }

    /// This generator, whose text something else reads, see [`Decoder::elsewhere`].
    pub fn elsewhere(
        self,
        read: impl FnMut(&[TokenId], usize) -> Result<Vec<f32>> + Send + 'm,
    ) -> Generator<'m> {
        Generator { decoder: self.decoder.elsewhere(read), ..self }
    }

    /// The prompt and what was written.
    pub fn tokens(&self) -> &[TokenId] {
        &self.tokens
    }

    /// What was written.
    pub fn written(&self) -> &[TokenId] {
        &self.tokens[self.prompt_len..]
    }

    /// Scores of the token that comes next.
    ///
    /// # Shapes
    /// Result `[V]`.
    ///
    /// # Errors
    /// None for tokens that this generator drew; the signature is the decoder's.
    pub fn logits(&mut self) -> Result<&[f32]> {
        let start = window_start(self.tokens.len(), self.window, self.slide);
        if start != self.start {
            self.decoder.rewind(0);
            self.start = start;
        }
        let unread = &self.tokens[start + self.decoder.len()..];
        if !unread.is_empty() {
            let scores = self.decoder.feed(unread)?;
            if self.tokens.len() == self.prompt_len {
                self.of_prompt = scores.to_vec();
            }
        }
        Ok(self.scores())
    }

    /// What [`logits`](Generator::logits) gave last.
    fn scores(&self) -> &[f32] {
        if self.written().is_empty() { &self.of_prompt } else { self.decoder.logits() }
    }

    /// Draws the next token and appends it.
    ///
    /// # Errors
    /// [`Error::Logits`] when a score is not finite or no token is allowed.
    pub fn next_token(&mut self) -> Result<Choice> {
        self.logits()?;
        let index = self.written().len() as u64;
        let choice = self.sampling.choose(self.scores(), &self.tokens, index)?;
        self.tokens.push(choice.token);
        Ok(choice)
    }

    /// Takes another prompt, for the text number `sample` of the same seed. What it has in common
    /// with the tokens that were read, from the first on, is not read again: of a conversation the
    /// last turn alone.
    ///
    /// # Errors
    /// As [`Generator::new`].
    pub fn prompt(&mut self, prompt: &[TokenId], sample: u64) -> Result<()> {
        check_prompt(prompt, self.decoder.logits().len())?;
        let start = window_start(prompt.len(), self.window, self.slide);
        let read = &self.tokens[self.start..][..self.decoder.len()];
        let pairs = read.iter().zip(&prompt[start..prompt.len() - 1]);
        let common = pairs.take_while(|(a, b)| a == b).count();
        self.decoder.rewind(if start == self.start { common } else { 0 });
        self.sampling.sample = sample;
        (self.tokens, self.prompt_len, self.start) = (prompt.to_vec(), prompt.len(), start);
        Ok(())
    }

    /// Goes back to the prompt, for the text number `sample` of the same seed.
    pub fn restart(&mut self, sample: u64) {
        self.sampling.sample = sample;
        self.tokens.truncate(self.prompt_len);
        // The prompt stays read, if the window still begins where it did. Its scores are those that it
        // had: read again, token by token, they would differ in their last digits.
        let same = self.start == window_start(self.prompt_len, self.window, self.slide);
        self.decoder.rewind(if same { self.prompt_len - self.start } else { 0 });
    }
}

impl Sampling {
    /// [`draw`](Sampling::draw), and what the model gave the token.
    fn choose(&self, logits: &[f32], so_far: &[TokenId], index: u64) -> Result<Choice> {
        let token = self.draw(logits, so_far, index)?;
        let mut lse = [0.0];
        log_sum_exp(&mut lse, logits, logits.len());
        Ok(Choice { token, logprob: logits[token as usize] - lse[0] })
    }
}

fn check_prompt(prompt: &[TokenId], vocab_size: usize) -> Result<()> {
    Error::unless_shaped(!prompt.is_empty(), "generate", "a prompt of one token or more", &[0])?;
    Error::unless_within(prompt, vocab_size)
}

/// The first of `n` tokens that the next one follows from, with `window` positions.
///
/// ```
/// use llm_core::generate::window_start;
/// assert_eq!([3, 4, 5, 6].map(|n| window_start(n, 4, 1)), [0, 0, 1, 2]);
/// assert_eq!([3, 4, 5, 6, 7].map(|n| window_start(n, 4, 2)), [0, 0, 2, 2, 4]);
/// ```
///
/// A `slide` of 0, which [`Generator::new`] refuses, never moves.
pub fn window_start(n: usize, window: usize, slide: usize) -> usize {
    n.saturating_sub(window).div_ceil(slide.max(1)).saturating_mul(slide)
}

/// Continues `prompt` by `n` tokens.
///
/// # Errors
/// As [`Generator::new`] with a slide of 1 and [`Generator::next_token`].
pub fn generate(
    model: &TinyGPT,
    prompt: &[TokenId],
    n: usize,
    sampling: Sampling,
) -> Result<Vec<TokenId>> {
    let mut generator = Generator::new(model, prompt, sampling, 1)?;
    (0..n).try_for_each(|_| generator.next_token().map(drop))?;
    Ok(generator.written().to_vec())
}

/// Scores of the token that follows `tokens`, by one pass over the last `seq_len` of them: what
/// the [`Decoder`] must agree with.
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

#[cfg(test)]
mod tests;
