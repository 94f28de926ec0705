//! A new run's tokenizer: from files, or trained on the run's text.

use super::choice::{Choice, no_text};
use crate::data::{Input, training_stories};
use crate::defaults::VOCAB_SIZE;
use crate::error::{Result, RunError, usage};
use crate::note::Note;
use llm_core::base::Message;
use llm_core::recipe::EndOfText;
use llm_core::tokenizer::{ByteTokenizer, CharTokenizer, IdsTokenizer, Tokenizer, split_at_marks};
use llm_core::{Error, message};
use llm_formats::bpe::{self, Learning};
use llm_formats::files::small_regular_file;
use llm_formats::kept::MARKS;
use llm_formats::nano_gpt;
use llm_formats::texts::characters;
use llm_formats::tokenizers::with_end_of_text;
use llm_stories::StoryCorpus;
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Bytes of text that a vocabulary is trained on, at most: evenly spaced parts of a larger one.
const MOST_TEXT: usize = 32 << 20;

/// Callback for the progress of a vocabulary, with the bytes that it is trained on.
pub type Watching<'a> = dyn Fn(Learning, u64) + Sync + 'a;

/// A tokenizer, and what there is to say about it.
#[derive(Debug)]
pub struct Made {
    /// The tokenizer.
    pub tokenizer: Arc<dyn Tokenizer>,
    /// How it came to be, where that is worth saying.
    pub note: Option<Note>,
}

/// The tokenizer of a new run. Characters are those of the whole text, validation part included: a
/// character that is not among them could not be read. BPE is trained on the training part alone.
///
/// # Errors
/// What making a vocabulary refuses.
pub fn make(choice: &Choice, input: &Input, val_frac: f64, watch: &Watching<'_>) -> Result<Made> {
    let ends = if let Input::Files(of) = input { of.texts.end_of_text() } else { EndOfText::None };
    let Made { tokenizer, note } = without_end(choice, input, val_frac, watch, ends)?;
    let tokenizer = match ends {
        EndOfText::None => tokenizer,
        EndOfText::Files | EndOfText::Marked => with_end_of_text(tokenizer)?,
    };
    let tokenizer = if input.are_chats() { choice.talking(tokenizer)? } else { tokenizer };
    Ok(Made { tokenizer, note })
}

/// The tokenizer as it is found; a trained one leaves room for a token that ends a text, if there
/// is to be one.
fn without_end(
    choice: &Choice,
    input: &Input,
    val_frac: f64,
    watch: &Watching<'_>,
    ends: EndOfText,
) -> Result<Made> {
    let marked = ends == EndOfText::Marked;
    let files = if let Input::Files(files) = input { Some(files) } else { None };
    let (largest, mut note) = (files.and_then(|files| files.texts.largest()), None);
    if let (Some(meta), true) =
        (files.and_then(|files| files.meta.as_deref()), may_be_characters(choice))
    {
        match of_meta(meta)? {
            Ok(made) => return Ok(made),
            Err(why) => note = Some(why),
        }
    }
    let tokenizer: Arc<dyn Tokenizer> = match choice {
        Choice::Byte | Choice::Numbers { .. } if largest.is_some() => {
            let needed = largest.map_or(1, |token| token as usize + 1);
            let said = if let Choice::Numbers { vocab_size } = choice { *vocab_size } else { None };
            // More than that is said in one line with the largest token.
            Arc::new(IdsTokenizer::new(said.unwrap_or(needed))?)
        }
        Choice::Char | Choice::Learn { .. } if largest.is_some() => return usage(no_text()),
        Choice::Char if input.are_chats() => {
            return usage(message!(
                "{tokenizer} char is for text: conversations have characters of their own around \
                 turns; take byte or bpe"
            ));
        }
        Choice::Byte => Arc::new(ByteTokenizer),
        Choice::Numbers { .. } => return Err(RunError::Internal(message!("text for numbers"))),
        Choice::Char => Arc::new(match input {
            Input::Files(files) => characters(files.texts.text(), marked)?,
            stories => CharTokenizer::from_text(&text(stories, 0.0, None)?)?,
        }),
        Choice::Learn { vocab_size } => {
            let mut text = text(input, val_frac, Some(MOST_TEXT))?;
            if marked {
                text = split_at_marks(&text).collect::<Vec<_>>().join(&b"\n"[..]).into();
            }
            let vocab_size = vocab_size.unwrap_or(VOCAB_SIZE);
            let least = ByteTokenizer::VOCAB_SIZE;
            let marks = if input.are_chats() { MARKS.len() } else { 0 };
            let further = usize::from(ends != EndOfText::None) + marks;
            let further = further.min(vocab_size.saturating_sub(least));
            return learn(&text, vocab_size - further, further, watch);
        }
        Choice::File(_) | Choice::Pair { .. } => {
            let loaded = choice.load()?;
            loaded.ok_or_else(|| RunError::Internal(message!("a file without tokenizer")))?
        }
    };
    Ok(Made { tokenizer, note })
}

/// Whether this choice leaves open what token numbers stand for, or asks for characters.
fn may_be_characters(choice: &Choice) -> bool {
    matches!(choice, Choice::Byte | Choice::Char | Choice::Numbers { vocab_size: None })
}

/// The characters that a `meta.pkl` names, or why it names none.
fn of_meta(meta: &Path) -> Result<std::result::Result<Made, Note>> {
    let characters = nano_gpt::characters(&small_regular_file(meta, nano_gpt::MOST_META)?);
    Ok(match characters {
        Ok(tokenizer) => {
            let (count, meta) = (tokenizer.vocab_size(), meta.to_path_buf());
            let note = Note::Characters { count, meta };
            Ok(Made { tokenizer: Arc::new(tokenizer), note: Some(note) })
        }
        Err(why) => {
            let (meta, why) = (meta.to_path_buf(), Message::from(why.to_string()));
            Err(Note::StayNumbers { meta, why })
        }
    })
}

/// The text before the validation part, or parts of it that are no more than `most`.
fn text(input: &Input, val_frac: f64, most: Option<usize>) -> Result<Cow<'_, [u8]>> {
    match input {
        Input::Stories { seed, count } => {
            let stories = StoryCorpus::new(*seed, 0..training_stories(*count, val_frac));
            let text: String = stories.stories.into_iter().map(|story| story.text).collect();
            Ok(Cow::Owned(text.into_bytes()))
        }
        Input::Files(files) => match &files.chats {
            Some(chats) => {
                let [learned, _] = chats.clone().divided(val_frac);
                Ok(Cow::Owned(learned.spoken(most.unwrap_or(usize::MAX))))
            }
            None => Ok(files.texts.learned(val_frac, most)?),
        },
    }
}

/// `further` tokens are added to the trained ones.
fn learn(text: &[u8], vocab_size: usize, further: usize, watch: &Watching<'_>) -> Result<Made> {
    let start = Instant::now();
    let total = text.len() as u64;
    let tokenizer = bpe::learn(text, vocab_size, &|step| watch(step, total));
    let tokenizer = tokenizer.map_err(|e| match e {
        e @ Error::Memory { .. } => RunError::Memory(e, message!("the size of {data}")),
        other => other.into(),
    })?;
    let (tokens, wanted) = (tokenizer.vocab_size() + further, vocab_size + further);
    let (bytes, seconds) = (total, start.elapsed().as_secs_f64());
    Ok(Made { tokenizer, note: Some(Note::Bpe { tokens, wanted, bytes, seconds }) })
}
