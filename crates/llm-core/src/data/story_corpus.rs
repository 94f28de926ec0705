//! A stretch of the built-in stories as training or validation data.

use super::stories::{Predictors, Story, Tally, story, surprise};
use super::{TokenDataset, Windows};
use std::ops::Range;

/// Stories in a row: the text that is learnt, and what is known about it.
#[derive(Clone, Debug)]
pub struct StoryCorpus {
    /// The stories, in order.
    pub stories: Vec<Story>,
    /// Their bytes as one sequence, windows beginning where stories begin.
    pub data: TokenDataset,
}

impl StoryCorpus {
    /// Stories number `range` of the sequence that belongs to `seed`.
    pub fn new(seed: u64, range: Range<u64>) -> StoryCorpus {
        let stories: Vec<Story> = range.map(|i| story(seed, i)).collect();
        let mut bytes = Vec::new();
        let mut starts = Vec::with_capacity(stories.len());
        for story in &stories {
            starts.push(bytes.len());
            bytes.extend_from_slice(story.text.as_bytes());
        }
        StoryCorpus { stories, data: TokenDataset::from_bytes(bytes).with_starts(starts) }
    }

    /// Mean −ln P(next byte | story so far) over the bytes that `windows` score, in nats: no
    /// model's expected loss there can be lower. `windows` are the first ones of
    /// [`TokenDataset::windows`], one for each story.
    pub fn entropy_floor(&self, windows: &Windows) -> f64 {
        let bytes: usize = self.stories.iter().zip(windows.iter()).map(|(_, w)| w.len).sum();
        // Byte p is the target of position p − 1, so the story's first byte is not scored.
        let nats = self.entropy(windows.iter().map(|w| 1..1 + w.len));
        if bytes == 0 { 0.0 } else { nats / bytes as f64 }
    }

    /// The sum of −ln P(next byte | story so far) over the bytes that are `scored` of each story, in
    /// nats.
    pub fn entropy(&self, scored: impl Iterator<Item = Range<usize>>) -> f64 {
        let nats = self.stories.iter().zip(scored).map(|(story, scored)| {
            let nats = surprise(&story.text).unwrap_or_default();
            nats.iter().skip(scored.start).take(scored.len()).sum::<f64>()
        });
        nats.sum()
    }

    /// How the two cheap predictors do here, after learning from `training`.
    pub fn cheap_predictors(&self, training: &StoryCorpus) -> Tally {
        let predictors = Predictors::learn(&training.stories);
        predictors.score(&self.stories).into_values().fold(Tally::default(), Tally::plus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_begin_at_stories() {
        let corpus = StoryCorpus::new(1, 10..20);
        let windows = corpus.data.windows(256);
        assert_eq!(windows.len(), 10);
        for (story, w) in corpus.stories.iter().zip(windows.iter()) {
            assert_eq!(w.len, story.text.len() - 1);
            let tokens = corpus.data.tokens(w.start, w.len + 1).unwrap();
            let text: String = tokens.iter().map(|&t| t as u8 as char).collect();
            assert_eq!(text, story.text);
        }
        let floor = corpus.entropy_floor(&windows);
        assert!(floor > 0.01 && floor < 1.0, "{floor}");
    }
}
