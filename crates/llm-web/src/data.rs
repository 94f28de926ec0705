//! What a run learns from and is judged on.

use crate::failure::{Code, Failure, Result};
use crate::memory::room;
use llm_core::base::Message;
use llm_core::data::{TokenDataset, Window, Windows};
use llm_core::message;
use llm_core::recipe::DataSource;
use llm_core::tokenizer::Tokenizer;
use llm_formats::data_file::{Kind, SAMPLE, unmarked, utf16};
use llm_lens::{KnownText, Piece};
use llm_stories::{FactKind, GRAMMAR_VERSION, Predictors, Story, StoryCorpus, Tally};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// What stories take in memory besides their text: words that are known, places.
const STORY_BYTES: u64 = 2 << 10;

/// Data ready for use. Copies share it.
#[derive(Clone, Debug)]
pub struct Data {
    /// What is learnt.
    pub train: TokenDataset,
    /// What it is judged on.
    pub unseen: TokenDataset,
    /// The windows of it.
    pub windows: Windows,
    /// Of the built-in stories, the unseen ones, a window each.
    stories: Option<Arc<Stories>>,
}

/// The built-in stories, both parts.
#[derive(Debug)]
pub struct Stories {
    source: DataSource,
    learnt: StoryCorpus,
    unseen: StoryCorpus,
    /// First words of a story that nobody learns.
    opening: String,
    /// What guesses without reading, learnt when it is first asked for.
    predictors: OnceLock<Predictors>,
}

impl Stories {
    /// Those of a source, of which a share is not learnt.
    ///
    /// # Errors
    /// [`Code::Data`] for stories of another grammar, [`Code::Memory`].
    pub fn new(source: &DataSource, val_frac: f64) -> Result<Stories> {
        let DataSource::Stories { version, seed, count } = *source else {
            return Err(Failure::new(Code::Internal, message!("files that are stories")));
        };
        if version != GRAMMAR_VERSION {
            let why =
                message!("stories of grammar {}, this program has {}", version, GRAMMAR_VERSION);
            return Err(Failure::new(Code::Data, why));
        }
        room(count.saturating_mul(STORY_BYTES))?;
        let cut = count - (count as f64 * val_frac) as u64;
        // The story after the last one.
        let after = llm_stories::story(seed, count).text;
        let opening: String = after.split_inclusive(' ').take(2).collect();
        Ok(Stories {
            source: source.clone(),
            learnt: StoryCorpus::new(seed, 0..cut),
            unseen: StoryCorpus::new(seed, cut..count),
            opening: opening.trim().into(),
            predictors: OnceLock::new(),
        })
    }

    /// Are they those of this source, cut in the same place?
    pub fn are(&self, source: &DataSource, val_frac: f64) -> bool {
        let DataSource::Stories { count, .. } = *source else { return false };
        let unseen = (count as f64 * val_frac) as u64;
        self.source == *source && self.unseen.stories.len() as u64 == unseen
    }
}

impl Data {
    /// The stories in tokens.
    ///
    /// # Errors
    /// What the tokenizer says; [`Code::Data`] when no window fits.
    pub fn of_stories(
        stories: &Arc<Stories>,
        tokenizer: &dyn Tokenizer,
        seq_len: usize,
    ) -> Result<Data> {
        let train = stories.learnt.tokens(tokenizer)?;
        train.check_room(message!("the training part"), seq_len)?;
        let unseen = stories.unseen.tokens(tokenizer)?;
        let windows = unseen.windows(seq_len);
        Ok(Data { train, unseen, windows, stories: Some(stories.clone()) })
    }

    /// A text in tokens, its last part to be judged on.
    ///
    /// # Errors
    /// [`Code::Text`] naming a character that the tokenizer does not have; [`Code::Data`] when no
    /// window fits.
    pub fn of_text(
        text: Vec<u8>,
        tokenizer: &dyn Tokenizer,
        val_frac: f64,
        seq_len: usize,
    ) -> Result<Data> {
        let all = match tokenizer.vocab_size() {
            // A token a byte, as it stands.
            256 if tokenizer.name() == llm_core::tokenizer::ByteTokenizer::NAME => {
                TokenDataset::from_bytes(text)
            }
            _ => {
                room((text.len() as u64).saturating_mul(8))?;
                TokenDataset::from_tokens(tokenizer.encode(&text)?)
            }
        };
        let (train, unseen) = all.split(val_frac);
        train.check_room(message!("the training part"), seq_len)?;
        let windows = unseen.windows(seq_len);
        Ok(Data { train, unseen, windows, stories: None })
    }

    /// Is it the built-in stories?
    pub fn is_stories(&self) -> bool {
        self.stories.is_some()
    }

    /// First words of an unseen story, to prompt with.
    pub fn opening(&self) -> Option<&str> {
        self.stories.as_ref().map(|stories| &*stories.opening)
    }

    /// The story of an unseen window.
    pub fn story(&self, window: Window) -> Option<&Story> {
        let stories = self.stories.as_ref()?;
        let (mut low, mut high) = (0, self.windows.len());
        while low < high {
            let i = low.midpoint(high);
            if self.windows.get(i)?.start < window.start { low = i + 1 } else { high = i }
        }
        stories.unseen.stories.get(low)
    }

    /// How many of a story's facts inside its window are right by guessing without reading.
    pub fn guessed(&self, story: &Story, window: Window) -> BTreeMap<FactKind, Tally> {
        let Some(stories) = &self.stories else { return BTreeMap::new() };
        let facts = story.facts.iter().filter(|of| of.start > 0 && of.end - 1 <= window.len);
        let inside = Story { facts: facts.cloned().collect(), ..story.clone() };
        let learn = || Predictors::learn(&stories.learnt.stories);
        stories.predictors.get_or_init(learn).score([&inside])
    }

    /// At most `limit` unseen tokens, in evenly spaced windows, none longer than `longest`.
    pub fn pieces(&self, limit: usize, longest: usize) -> impl Iterator<Item = Result<Piece<'_>>> {
        let windows = self.windows.evenly_spaced(limit);
        (0..windows.len()).filter_map(move |i| windows.get(i)).map(move |window| {
            let tokens = self.unseen.tokens(window.start, window.len.min(longest) + 1)?;
            Ok(Piece { tokens, known: self.story(window).map(known) })
        })
    }
}

/// What is known about a story: the words that follow from the text before them.
fn known(story: &Story) -> KnownText<'_> {
    let words = story.facts.iter().map(|fact| fact.start..fact.end);
    KnownText { text: &story.text, words: words.collect() }
}

/// The text in a file: without its mark, out of UTF-16, as the trainers take it.
///
/// # Errors
/// [`Code::Data`] for what is empty or no text.
pub fn text(name: &str, file: Vec<u8>) -> Result<Vec<u8>> {
    let name = shown(name);
    let refused = |why: Message| Failure::new(Code::Data, why);
    let no_text = |what: Message| refused(message!("'{}' is no text: {}", &name, what));
    let bytes = match Kind::of(&file[..file.len().min(SAMPLE)]) {
        Kind::Text => file,
        Kind::MarkedUtf8 => unmarked(file),
        Kind::Utf16 { big, mark } => utf16(&file[mark..], big)
            .ok_or_else(|| {
                refused(message!("'{}' begins as UTF-16 and goes on as something else", &name))
            })?
            .into_bytes(),
        Kind::Gzip => return Err(no_text(message!("compressed with gzip"))),
        Kind::Foreign(what) => return Err(no_text(what.message())),
        Kind::Binary { controls } => {
            return Err(no_text(message!(
                "{:.0} % of its first bytes are control characters",
                100.0 * controls
            )));
        }
    };
    if bytes.is_empty() {
        return Err(refused(message!("'{}' is empty; a run needs some text", &name)));
    }
    Ok(bytes)
}

/// A name from outside, in one line.
pub fn shown(name: &str) -> String {
    name.escape_debug().to_string()
}
