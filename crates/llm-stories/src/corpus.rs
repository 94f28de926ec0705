//! A stretch of the built-in stories as training or validation data.

use crate::exact::surprise;
use crate::fact::Story;
use crate::tell::story;
use llm_core::Result;
use llm_core::data::{TokenDataset, Windows};
use llm_core::tokenizer::{ByteTokenizer, Tokenizer};
use std::fmt;
use std::ops::Range;

/// Stories in a row: the training text, and what is known about it.
#[derive(Clone)]
pub struct StoryCorpus {
    /// The stories, in order.
    pub stories: Vec<Story>,
    /// The stories' bytes as one sequence, windows beginning where stories begin.
    pub data: TokenDataset,
}

impl fmt::Debug for StoryCorpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StoryCorpus { stories, data } = self;
        let mut fields = f.debug_struct("StoryCorpus");
        fields.field("stories", &stories.len()).field("data", data).finish()
    }
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

    /// The stories in tokens. Each is cut by itself: none has a part of the next.
    ///
    /// # Errors
    /// What the tokenizer says.
    pub fn tokens(&self, tokenizer: &dyn Tokenizer) -> Result<TokenDataset> {
        if tokenizer.name() == ByteTokenizer::NAME {
            return Ok(self.data.clone());
        }
        let mut starts = Vec::with_capacity(self.stories.len());
        let mut tokens = Vec::new();
        for story in &self.stories {
            starts.push(tokens.len());
            tokens.extend(tokenizer.encode(story.text.as_bytes())?);
        }
        Ok(TokenDataset::from_tokens(tokens).with_starts(starts))
    }

    /// Mean −ln P(next byte | story so far) over the bytes that `windows` score, in nats: no
    /// model's expected loss there can be lower. `windows` are the first ones of
    /// [`TokenDataset::windows`], one for each story.
    pub fn entropy_floor(&self, windows: &Windows) -> f64 {
        let bytes: usize = self.stories.iter().zip(windows.iter()).map(|(_, w)| w.len).sum();
        let nats = self.stories.iter().zip(windows.iter()).map(|(story, window)| {
            let nats = surprise(&story.text).unwrap_or_default();
            // Byte p is the target of position p − 1, so the story's first byte is not scored.
            nats.iter().skip(1).take(window.len).sum::<f64>()
        });
        let nats: f64 = nats.sum();
        if bytes == 0 { 0.0 } else { nats / bytes as f64 }
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
