//! Unseen stories as validation data, in tokens of any kind. What is known about stories
//! is known by bytes.

use crate::corpus::StoryCorpus;
use crate::exact::surprise;
use crate::fact::{FactKind, Story};
use crate::fact_scores::FactTable;
use crate::predictors::{Predictors, Tally};
use llm_core::Result;
use llm_core::base::memory;
use llm_core::data::{TokenDataset, Window, Windows};
use llm_core::tokenizer::Tokenizer;
use llm_core::train::Scored;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// What a story takes in memory: its text, the words that are known, what its bytes tell.
const STORY_BYTES: u64 = 2 << 10;

/// Stories in a row, of which the last are not trained on.
#[derive(Clone, Debug)]
pub struct ToldStories {
    /// Seed of the sequence.
    seed: u64,
    /// The training part.
    pub learned: StoryCorpus,
    /// The validation part.
    pub unseen: Arc<ToldUnseen>,
}

/// Stories that are not trained on, and what is known of them without a model.
#[derive(Clone, Debug)]
pub struct ToldUnseen {
    /// The unseen stories.
    pub corpus: StoryCorpus,
    /// The predictors, after reading the training part.
    predictors: Predictors,
    /// −ln P(byte | story so far) of each unseen story's bytes.
    nats: Vec<Vec<f64>>,
    /// How the predictors do on all that is unseen.
    guessed: Tally,
}

impl ToldStories {
    /// The first `count` of the sequence that belongs to `seed`; the first `learned` of them are for
    /// training.
    ///
    /// # Errors
    /// [`Error::Memory`](llm_core::Error::Memory) for more than fit into memory.
    pub fn new((seed, count, learned): (u64, u64, u64)) -> Result<ToldStories> {
        memory::require(count.saturating_mul(STORY_BYTES))?;
        let unseen = StoryCorpus::new(seed, learned..count);
        let learned = StoryCorpus::new(seed, 0..learned);
        let predictors = Predictors::learn(&learned.stories);
        let nats = unseen.stories.iter().map(|story| surprise(&story.text).unwrap_or_default());
        let (nats, guessed) = (nats.collect(), predictors.score(&unseen.stories));
        let guessed = guessed.into_values().fold(Tally::default(), Tally::plus);
        let unseen = Arc::new(ToldUnseen { corpus: unseen, predictors, nats, guessed });
        Ok(ToldStories { seed, learned, unseen })
    }

    /// The seed, how many there are, and how many of them are for training.
    pub fn parts(&self) -> (u64, u64, u64) {
        let learned = self.learned.stories.len() as u64;
        (self.seed, learned + self.unseen.corpus.stories.len() as u64, learned)
    }
}

/// What is known about unseen stories.
#[derive(Clone, Debug)]
pub struct UnseenStories {
    told: Arc<ToldUnseen>,
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
    /// The unseen stories of `told`, whose tokens are `data`, cut into `windows`, one for each story.
    ///
    /// # Errors
    /// What reading the data says.
    pub fn new(
        told: Arc<ToldUnseen>,
        data: &TokenDataset,
        windows: &Windows,
        tokenizer: &dyn Tokenizer,
    ) -> Result<UnseenStories> {
        let scored = scored_bytes(data, windows, tokenizer)?;
        let starts = windows.iter().map(|w| w.start).collect();
        let shares = (told.guessed.most_frequent_share(), told.guessed.last_mentioned_share());
        let (most_frequent, last_mentioned) = shares;
        let stories =
            UnseenStories { told, starts, scored, floor: 0.0, most_frequent, last_mentioned };
        Ok(UnseenStories { floor: stories.floor_of(windows), ..stories })
    }

    fn index(&self, window: Window) -> usize {
        self.starts.partition_point(|&start| start < window.start)
    }

    /// The story that a window belongs to.
    pub fn story(&self, window: Window) -> Option<&Story> {
        self.told.corpus.stories.get(self.index(window))
    }

    /// [`UnseenStories::floor`] of some of the windows.
    pub fn floor_of(&self, windows: &Windows) -> f64 {
        let nats = windows.iter().filter_map(|window| {
            let index = self.index(window);
            let (nats, scored) = (self.told.nats.get(index)?, self.scored.get(index)?);
            Some(nats.iter().skip(scored.start).take(scored.len()).sum::<f64>())
        });
        nats.sum::<f64>() / windows.tokens().max(1) as f64
    }

    /// How many of the facts inside some of the windows are right without reading, by their kinds.
    pub fn guessed(&self, windows: &Windows) -> BTreeMap<FactKind, Tally> {
        let mut sums: BTreeMap<FactKind, Tally> = BTreeMap::new();
        for index in windows.iter().map(|window| self.index(window)) {
            let found = (self.told.corpus.stories.get(index), self.scored.get(index));
            let (Some(story), Some(scored)) = found else { continue };
            let facts = story.facts.iter();
            let facts = facts.filter(|of| of.start >= scored.start.max(1) && of.end <= scored.end);
            let inside = Story { facts: facts.cloned().collect(), ..story.clone() };
            for (kind, tally) in self.told.predictors.score([&inside]) {
                let sum = sums.entry(kind).or_default();
                *sum = sum.plus(tally);
            }
        }
        sums
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
        let found = (self.story(window), self.scored.get(self.index(window)));
        let (Some(story), Some(bytes)) = found else { return };
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
