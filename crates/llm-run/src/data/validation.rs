//! Unseen data, and what an evaluation of it finds.

use crate::defaults::{FINAL_TOKENS, final_tokens};
use crate::error::Result;
use crate::log::RunResult;
use llm_core::base::Message;
use llm_core::data::{TokenDataset, Window, Windows};
use llm_core::tokenizer::Tokenizer;
use llm_core::train::{Evaluation, OneProcess, Scored, Sums, Work, evaluate_together};
use llm_core::{Recipe, TinyGPT, TokenId};
use llm_lens::{KnownText, Piece};
use llm_stories::{FactTable, Story, ToldUnseen, UnseenStories};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Unseen data with the windows that are scored. Copies share what is large.
#[derive(Clone, Debug)]
pub struct Validation {
    data: TokenDataset,
    windows: Windows,
    tokenizer: Arc<dyn Tokenizer>,
    /// With the built-in stories.
    pub stories: Option<UnseenStories>,
    /// What was done to its text, if anything.
    pub about: Option<Message>,
}

/// What an evaluation found.
#[derive(Clone, Debug)]
pub struct Report {
    /// Loss and accuracy.
    pub evaluation: Evaluation,
    /// Bytes that the scored tokens stand for.
    pub bytes: u64,
    /// What a token is: `byte` or `token`.
    pub unit: &'static str,
    /// With the built-in stories.
    pub facts: Option<FactTable>,
}

impl Report {
    /// From what a run's folder remembers of it, for tokens that are called `unit`.
    pub fn known(result: &RunResult, unit: &'static str) -> Report {
        let RunResult { val_loss: loss, scored: tokens, accuracy, bits_per_byte, .. } = *result;
        let evaluation = Evaluation { loss, accuracy, tokens };
        let bits = evaluation.bits_per_token() * tokens as f64;
        let bytes = bits_per_byte.map_or(0.0, |of_one| bits / of_one).round() as u64;
        Report { evaluation, bytes, unit, facts: None }
    }

    /// What the text costs in bits, for each of its bytes: comparable between tokenizers. `None` of
    /// tokens that stand for no text.
    pub fn bits_per_byte(&self) -> Option<f64> {
        let Evaluation { tokens, .. } = self.evaluation;
        let bits = self.evaluation.bits_per_token() * tokens as f64;
        (self.bytes > 0).then(|| bits / self.bytes as f64)
    }

    /// Facts right, 0..=1.
    pub fn facts_share(&self) -> Option<f64> {
        self.facts.as_ref().map(|facts| facts.total().share())
    }
}

/// For programs; facts by the names of their kinds.
impl Serialize for Report {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        let mut all = to.serialize_map(None)?;
        all.serialize_entry("val_loss", &self.evaluation.loss)?;
        if let Some(bits) = self.bits_per_byte() {
            all.serialize_entry("bits_per_byte", &bits)?;
        }
        all.serialize_entry("accuracy", &self.evaluation.accuracy)?;
        all.serialize_entry("scored", &self.evaluation.tokens)?;
        if let Some(facts) = &self.facts {
            let kinds = facts.kinds.iter().map(|(kind, of)| (kind.name(), of.share()));
            all.serialize_entry("facts", &kinds.collect::<BTreeMap<_, _>>())?;
            all.serialize_entry("facts_accuracy", &facts.total().share())?;
        }
        all.end()
    }
}

impl Validation {
    /// All of a text, in windows of `seq_len`.
    pub(crate) fn of(data: TokenDataset, seq_len: usize, tokenizer: Arc<dyn Tokenizer>) -> Self {
        Validation { windows: data.windows(seq_len), data, tokenizer, stories: None, about: None }
    }

    /// The validation data, and what was done to their text.
    pub(super) fn with(self, about: Option<Message>) -> Validation {
        Validation { about, ..self }
    }

    /// Whether there is nothing to score.
    pub(super) fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    pub(super) fn of_stories(
        told: Arc<ToldUnseen>,
        seq_len: usize,
        tokenizer: Arc<dyn Tokenizer>,
    ) -> Result<Validation> {
        let data = told.corpus.tokens(tokenizer.as_ref())?;
        let windows = data.windows(seq_len);
        let stories = UnseenStories::new(told, &data, &windows, tokenizer.as_ref())?;
        Ok(Validation { data, windows, tokenizer, stories: Some(stories), about: None })
    }

    /// At most the first `most` tokens, of stories those of the first one.
    ///
    /// # Errors
    /// What reading them says.
    pub fn beginning(&self, most: usize) -> llm_core::Result<Vec<TokenId>> {
        let first = self.stories.as_ref().and(self.windows.get(0)).map_or(most, |w| w.len + 1);
        self.data.tokens(0, most.min(first).min(self.data.len()))
    }

    /// At most `limit` tokens of inputs, in evenly spaced windows, none longer than `longest`.
    pub fn pieces(&self, limit: usize, longest: usize) -> impl Iterator<Item = Result<Piece<'_>>> {
        let windows = self.windows_of(limit);
        (0..windows.len()).filter_map(move |i| windows.get(i)).map(move |window| {
            let tokens = self.data.tokens(window.start, window.len.min(longest) + 1)?;
            let story = self.stories.as_ref().and_then(|stories| stories.story(window));
            Ok(Piece { tokens, known: story.map(known) })
        })
    }

    /// Number of tokens that there are to score.
    pub fn tokens(&self) -> usize {
        self.data.targets_in(&self.windows)
    }

    /// Number of tokens that are scored when at most `limit` are to be.
    pub fn tokens_of(&self, limit: usize) -> usize {
        self.data.targets_in(&self.windows_of(limit))
    }

    /// The windows of those, evenly spaced.
    pub fn windows_of(&self, limit: usize) -> Windows {
        // Of a conversation not every token is scored.
        let (all, scored) = (self.windows.tokens(), self.tokens());
        let most = (limit as u128 * all as u128).checked_div(scored as u128).unwrap_or(0);
        self.windows.evenly_spaced(usize::try_from(most).unwrap_or(usize::MAX))
    }

    /// Most tokens that are scored after the last of `steps` of a model with n `parameters`: a short
    /// run with a long text is not to be measured for longer than it was trained, unless that is soon
    /// done.
    pub fn most_after(&self, steps: u64, recipe: &Recipe, parameters: u64) -> usize {
        if self.stories.is_some() {
            return FINAL_TOKENS;
        }
        final_tokens(steps.saturating_mul(recipe.tokens_per_step()), parameters)
    }

    /// Loss in windows of `seq_len`, whatever texts end in them, over the first tokens of which whole
    /// windows of `longest` can be made, at most `limit`; nothing where there is no such window. The
    /// same tokens are scored for every length that divides `longest`.
    ///
    /// # Errors
    /// What [`evaluate`](llm_core::train::evaluate) refuses.
    pub fn loss_in_windows(
        &self,
        model: &TinyGPT,
        [seq_len, longest]: [usize; 2],
        limit: usize,
        mut stop: impl FnMut() -> bool,
    ) -> Result<Option<f64>> {
        if self.data.passages().is_some() {
            return Ok(None);
        }
        let most = self.data.len().saturating_sub(1).min(limit.max(longest));
        let scored = most / longest * longest;
        if scored == 0 {
            return Ok(None);
        }
        let windows = Windows::consecutive(scored + 1, seq_len);
        let found = evaluate_together(&mut OneProcess, model, &self.data, &windows, 1, |_| {
            if stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(Some(found.loss))
    }

    /// Scores at most `limit` tokens, in evenly spaced windows. `stop` is called after each window
    /// with how many were scored, and says whether that is enough.
    ///
    /// # Errors
    /// What [`evaluate`](llm_core::train::evaluate) refuses.
    pub fn score(
        &self,
        model: &TinyGPT,
        batch_size: usize,
        limit: usize,
        mut stop: impl FnMut(u64) -> bool,
    ) -> Result<Report> {
        self.score_together(&mut OneProcess, model, batch_size, limit, |tokens, _, _| stop(tokens))
    }

    /// [`Validation::score`] by all workers. `seen` is given each window and what the model said
    /// about it too.
    ///
    /// # Errors
    /// As [`evaluate_together`].
    pub fn score_together(
        &self,
        work: &mut dyn Work,
        model: &TinyGPT,
        batch_size: usize,
        limit: usize,
        seen: impl FnMut(u64, Window, &Scored<'_>) -> bool,
    ) -> Result<Report> {
        let mut all = Slices::new(self, limit);
        all.score(self, work, model, [batch_size, usize::MAX], seen)?;
        Ok(all.report(self))
    }
}

/// A measurement that is made in slices. Of the same weights it comes to what one call finds, to the
/// bit.
#[derive(Clone, Debug)]
pub struct Slices {
    windows: Windows,
    /// Windows that are scored.
    next: usize,
    sums: Sums,
    bytes: u64,
    facts: Option<FactTable>,
}

impl Slices {
    /// A measurement on at most `limit` tokens, in evenly spaced windows.
    pub fn new(val: &Validation, limit: usize) -> Slices {
        let facts = val.stories.as_ref().map(|_| FactTable::default());
        let windows = val.windows_of(limit);
        Slices { windows, next: 0, sums: Sums::default(), bytes: 0, facts }
    }

    /// The share of windows that are scored; 1 at the end.
    pub fn part(&self) -> f64 {
        let all = self.windows.len();
        if self.next == all { 1.0 } else { self.next as f64 / all as f64 }
    }

    /// Scores `count` windows more, or as many as are left, `batch_size` at a time; `seen` as for
    /// [`Validation::score_together`].
    ///
    /// # Errors
    /// As [`evaluate_together`].
    pub fn score(
        &mut self,
        val: &Validation,
        work: &mut dyn Work,
        model: &TinyGPT,
        [batch_size, count]: [usize; 2],
        mut seen: impl FnMut(u64, Window, &Scored<'_>) -> bool,
    ) -> Result<()> {
        let tokenizer = val.tokenizer.as_ref();
        let some: Windows = self.windows.iter().skip(self.next).take(count).collect();
        evaluate_together(work, model, &val.data, &some, batch_size, |scored| {
            let Some(window) = some.get(scored.window) else { return ControlFlow::Break(()) };
            let end = tokenizer.end_of_text();
            // The token that ends a text stands for none of its bytes.
            let spoken = scored.targets.iter().filter(|&&token| Some(token) != end);
            self.bytes += spoken.map(|&token| tokenizer.bytes_of(token).len() as u64).sum::<u64>();
            if let (Some(facts), Some(stories)) = (&mut self.facts, &val.stories) {
                stories.add_facts(facts, window, &scored, tokenizer);
            }
            self.sums.add(&scored);
            self.next += 1;
            match seen(self.sums.means().tokens, window, &scored) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        Ok(())
    }

    /// What was found so far.
    pub fn report(&self, val: &Validation) -> Report {
        let unit = llm_formats::tokenizers::unit(&*val.tokenizer);
        let evaluation = self.sums.means();
        Report { evaluation, bytes: self.bytes, unit, facts: self.facts.clone() }
    }
}

/// What is known about a story: the words that follow from the text before them.
fn known(story: &Story) -> KnownText<'_> {
    let words = story.facts.iter().map(|fact| fact.start..fact.end);
    KnownText { text: &story.text, words: words.collect() }
}
