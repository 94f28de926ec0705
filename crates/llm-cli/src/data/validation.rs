//! Unseen data, and what an evaluation of it finds.

use super::stories;
use crate::error::Result;
use llm_core::data::stories::Story;
use llm_core::data::{StoryCorpus, TokenDataset, Window, Windows};
use llm_core::tokenizer::{ByteTokenizer, Tokenizer};
use llm_core::train::{Evaluation, FactTable, Scored, evaluate};
use llm_core::{TinyGPT, TokenId};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

/// Unseen data with the windows that are scored.
pub struct Validation {
    data: TokenDataset,
    windows: Windows,
    tokenizer: Arc<dyn Tokenizer>,
    /// With the built-in stories.
    pub stories: Option<StoryValidation>,
}

/// A stretch of unseen data, for looking at what the model does there.
pub struct Piece<'a> {
    /// `[T + 1]`: T inputs and the token after them.
    pub tokens: Vec<TokenId>,
    /// The story that begins there, with the built-in ones.
    pub story: Option<&'a Story>,
}

/// What is known about unseen stories.
pub struct StoryValidation {
    corpus: StoryCorpus,
    /// Where the windows begin, one for each story.
    starts: Vec<usize>,
    /// The bytes of each story that its window scores.
    scored: Vec<Range<usize>>,
    /// No model's expected loss can be lower, in nats per token.
    pub floor: f64,
    /// Share of facts right by the most frequent word of the kind.
    pub most_frequent: f64,
    /// Share of facts right by the last-mentioned candidate.
    pub last_mentioned: f64,
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
    /// What the text costs in bits, for each of its bytes: comparable between tokenizers.
    pub fn bits_per_byte(&self) -> f64 {
        let Evaluation { tokens, .. } = self.evaluation;
        if self.bytes == 0 {
            return 0.0;
        }
        self.evaluation.bits_per_token() * tokens as f64 / self.bytes as f64
    }

    /// In one line.
    pub fn summary(&self) -> String {
        let per_byte = if self.unit == ByteTokenizer::NAME { "" } else { " per byte" };
        format!(
            "validation loss {:.4} nats per {} ({:.3} bits{per_byte}) · top-1 {:.1} %",
            self.evaluation.loss,
            self.unit,
            self.bits_per_byte(),
            100.0 * self.evaluation.accuracy
        )
    }
}

impl Validation {
    /// All of a text, in windows of `seq_len`.
    pub(super) fn of(
        data: TokenDataset,
        seq_len: usize,
        tokenizer: Arc<dyn Tokenizer>,
    ) -> Validation {
        Validation { windows: data.windows(seq_len), data, tokenizer, stories: None }
    }

    /// Whether there is nothing to score.
    pub(super) fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    pub(super) fn of_stories(
        seed: u64,
        range: Range<u64>,
        train: &StoryCorpus,
        seq_len: usize,
        tokenizer: Arc<dyn Tokenizer>,
    ) -> Result<Validation> {
        let corpus = StoryCorpus::new(seed, range);
        let data = stories::as_tokens(&corpus, tokenizer.as_ref())?;
        let windows = data.windows(seq_len);
        let scored = stories::scored_bytes(&data, &windows, tokenizer.as_ref())?;
        let cheap = corpus.cheap_predictors(train);
        let stories = StoryValidation {
            floor: corpus.entropy(scored.iter().cloned()) / windows.tokens().max(1) as f64,
            most_frequent: cheap.most_frequent_share(),
            last_mentioned: cheap.last_mentioned_share(),
            starts: windows.iter().map(|w| w.start).collect(),
            scored,
            corpus,
        };
        Ok(Validation { data, windows, tokenizer, stories: Some(stories) })
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
        let windows = self.windows.evenly_spaced(limit);
        (0..windows.len()).filter_map(move |i| windows.get(i)).map(move |window| {
            let tokens = self.data.tokens(window.start, window.len.min(longest) + 1)?;
            let story = self.stories.as_ref().and_then(|stories| stories.of(window));
            Ok(Piece { tokens, story })
        })
    }

    /// Number of tokens that there are to score.
    pub fn tokens(&self) -> usize {
        self.windows.tokens()
    }

    /// Scores at most `limit` tokens, in evenly spaced windows. `stop` is asked after each window.
    ///
    /// # Errors
    /// What [`evaluate`] refuses.
    pub fn score(
        &self,
        model: &TinyGPT,
        batch_size: usize,
        limit: usize,
        mut stop: impl FnMut() -> bool,
    ) -> Result<Report> {
        let windows = self.windows.evenly_spaced(limit);
        let mut facts = self.stories.as_ref().map(|_| FactTable::default());
        let mut bytes = 0;
        let evaluation = evaluate(model, &self.data, &windows, batch_size, |scored| {
            let length = |&token| self.tokenizer.bytes_of(token).len() as u64;
            bytes += scored.targets.iter().map(length).sum::<u64>();
            if let (Some(facts), Some(stories), Some(window)) =
                (&mut facts, &self.stories, windows.get(scored.window))
            {
                stories.add_facts(facts, window, &scored, self.tokenizer.as_ref());
            }
            if stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(Report { evaluation, bytes, unit: crate::tokenizers::unit(&*self.tokenizer), facts })
    }
}

impl StoryValidation {
    /// The story that a window belongs to.
    fn of(&self, window: Window) -> Option<&Story> {
        let index = self.starts.partition_point(|&start| start < window.start);
        self.corpus.stories.get(index)
    }

    /// Adds the facts of the window's story. A byte is right when its token is.
    fn add_facts(
        &self,
        facts: &mut FactTable,
        window: Window,
        scored: &Scored<'_>,
        tokenizer: &dyn Tokenizer,
    ) {
        let index = self.starts.partition_point(|&start| start < window.start);
        let (Some(story), Some(bytes)) = (self.corpus.stories.get(index), self.scored.get(index))
        else {
            return;
        };
        // Of the first token's bytes, which are not scored, none is known to be right.
        let mut right = vec![false; bytes.start.saturating_sub(1)];
        for (&token, &is_right) in scored.targets.iter().zip(scored.right) {
            right.resize(right.len() + tokenizer.bytes_of(token).len(), is_right);
        }
        let window = Window { start: window.start, len: right.len() };
        facts.add(story, window, &Scored { right: &right, ..*scored });
    }
}
