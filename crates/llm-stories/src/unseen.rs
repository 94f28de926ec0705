//! Unseen stories as something to be judged on, in tokens of any kind. What is known about stories
//! is known by bytes.

use crate::corpus::StoryCorpus;
use crate::fact::Story;
use crate::fact_scores::FactTable;
use llm_core::Result;
use llm_core::data::{TokenDataset, Window, Windows};
use llm_core::tokenizer::Tokenizer;
use llm_core::train::Scored;
use std::ops::Range;

/// What is known about unseen stories.
#[derive(Clone, Debug)]
pub struct UnseenStories {
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

impl UnseenStories {
    /// Of a corpus whose tokens are `data`, cut into `windows`, one for each story. The cheap
    /// predictors learn from `train`.
    ///
    /// # Errors
    /// What reading the data says.
    pub fn new(
        corpus: StoryCorpus,
        train: &StoryCorpus,
        data: &TokenDataset,
        windows: &Windows,
        tokenizer: &dyn Tokenizer,
    ) -> Result<UnseenStories> {
        let scored = scored_bytes(data, windows, tokenizer)?;
        let cheap = corpus.cheap_predictors(train);
        Ok(UnseenStories {
            floor: corpus.entropy(scored.iter().cloned()) / windows.tokens().max(1) as f64,
            most_frequent: cheap.most_frequent_share(),
            last_mentioned: cheap.last_mentioned_share(),
            starts: windows.iter().map(|w| w.start).collect(),
            scored,
            corpus,
        })
    }

    /// The story that a window belongs to.
    pub fn story(&self, window: Window) -> Option<&Story> {
        let index = self.starts.partition_point(|&start| start < window.start);
        self.corpus.stories.get(index)
    }

    /// Adds the facts of the window's story, which `scored` is about. A byte is right when its token
    /// is.
    pub fn add_facts(
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

/// The bytes of each story that its window scores: all that its tokens but the first stand for.
fn scored_bytes(
    data: &TokenDataset,
    windows: &Windows,
    tokenizer: &dyn Tokenizer,
) -> Result<Vec<Range<usize>>> {
    let scored = windows.iter().map(|window| {
        let tokens = data.tokens(window.start, window.len + 1)?;
        let mut ends = tokens.iter().scan(0, |end, &token| {
            *end += tokenizer.bytes_of(token).len();
            Some(*end)
        });
        let first = ends.next().unwrap_or(0);
        Ok(first..ends.last().unwrap_or(first))
    });
    scored.collect()
}
