//! Learning a vocabulary: the library's byte-level BPE on the words of a text.

use super::load::of_library;
use super::parts::refuse;
use super::split::{Splitter, pieces};
use super::{Bpe, alphabet};
use llm_core::tokenizer::Tokenizer;
use llm_core::{Config, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokenizers::Trainer;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;

/// Longer words are learnt in parts of this many bytes: merging inside a word takes time with the
/// square of its length, and a longer token would be of no use.
const LONGEST: usize = 256;
/// A pair that came once says nothing about other text.
const LEAST: u64 = 2;

/// What learning reports on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learning {
    /// So many bytes have been read.
    Read(usize),
    /// All have: now tokens are merged.
    Merge,
}

/// A vocabulary of `vocab_size` tokens, all 256 bytes among them, learnt from a text; fewer when
/// the text has not so many pairs that come twice. The same text gives the same tokens.
///
/// # Errors
/// [`llm_core::Error::Tokenizer`] for a size outside 256..=[`Config::MAX_VOCAB`].
pub fn learn(
    text: &[u8],
    vocab_size: usize,
    report: impl Fn(Learning) + Sync,
) -> Result<Arc<dyn Tokenizer>> {
    if !(256..=Config::MAX_VOCAB).contains(&vocab_size) {
        let why = format!("{vocab_size} tokens are outside 256..={}", Config::MAX_VOCAB);
        return Err(refuse(why));
    }
    let splitter = Splitter::get()?;
    let mut trainer = BpeTrainer::builder()
        .vocab_size(vocab_size)
        .min_frequency(LEAST)
        .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
        .show_progress(false)
        .build();
    let read = AtomicUsize::new(0);
    let texts = pieces(text).flat_map(|piece| piece.utf8_chunks().map(|chunk| chunk.valid()));
    let fed = trainer.feed(texts, |text| {
        let words = splitter.words(text).flat_map(parts_of);
        let words = words.map(alphabet::symbols).collect();
        report(Learning::Read(read.fetch_add(text.len(), Ordering::Relaxed) + text.len()));
        Ok(words)
    });
    fed.map_err(|e| refuse(e.to_string()))?;
    report(Learning::Merge);
    let mut model = BPE::default();
    trainer.train(&mut model).map_err(|e| refuse(e.to_string()))?;
    Ok(Arc::new(Bpe::new(of_library(&model)?)?))
}

/// A word in parts of at most [`LONGEST`] bytes, whole characters each.
fn parts_of(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let end = (0..=LONGEST.min(rest.len())).rev().find(|&i| rest.is_char_boundary(i))?;
        let (part, after) = rest.split_at(end);
        rest = after;
        (!part.is_empty()).then_some(part)
    })
}
