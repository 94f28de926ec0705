//! Learning a vocabulary: the library's byte-level BPE on the words of a text.

use super::about::{Learning, Report};
use super::kind::{Words, refuse};
use super::load::of_library;
use super::split::{Splitter, pieces};
use crate::alphabet;
use llm_core::base::memory;
use llm_core::tokenizer::Tokenizer;
use llm_core::{Config, Result, message};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokenizers::Trainer;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;

/// Longer words are trained on in parts of this many bytes: merging inside a word takes time with
/// the square of its length, and a longer token would be of no use.
const LONGEST: usize = 256;
/// A pair that came once says nothing about other text.
const LEAST: u64 = 2;

/// What the library takes for each byte of the words that differ, at most 85 as measured, ..
const BYTE_MEMORY: u64 = 100;
/// Bytes for each token that the library finds, in its tables and ours.
const TOKEN_MEMORY: u64 = 1 << 10;
/// Bytes that learning takes in any case.
const AT_LEAST: u64 = 32 << 20;

/// What counting takes for each of those words, when its table grows.
const COUNTED_MEMORY: u64 = 64;

/// A vocabulary of `vocab_size` tokens, all 256 bytes among them, trained on a text; fewer when
/// the text has fewer pairs that come twice. The same text gives the same tokens.
///
/// # Errors
/// [`llm_core::Error::Tokenizer`] for a size outside 256..=[`Config::MAX_VOCAB`];
/// [`llm_core::Error::Memory`] when the words of the text need more than there is.
pub fn learn(text: &[u8], vocab_size: usize, report: &Report<'_>) -> Result<Arc<dyn Tokenizer>> {
    if !(256..=Config::MAX_VOCAB).contains(&vocab_size) {
        let why = message!("{} tokens are outside 256..={}", vocab_size, Config::MAX_VOCAB);
        return Err(refuse(why));
    }
    let splitter = Splitter::get(Words::Gpt2)?;
    require_memory(text, vocab_size, splitter)?;
    let mut trainer = BpeTrainer::builder()
        .vocab_size(vocab_size)
        .min_frequency(LEAST)
        .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
        .show_progress(false)
        .build();
    let read = AtomicUsize::new(0);
    let texts =
        pieces(text, Words::Gpt2).flat_map(|piece| piece.utf8_chunks().map(|chunk| chunk.valid()));
    let fed = trainer.feed(texts, |text| {
        let words = splitter.words(text).flat_map(parts_of);
        let words = words.map(|word| alphabet::symbols(word.as_bytes())).collect();
        report(Learning::Read(read.fetch_add(text.len(), Ordering::Relaxed) + text.len()));
        Ok(words)
    });
    fed.map_err(|e| refuse(e.to_string()))?;
    report(Learning::Merge);
    let mut model = BPE::default();
    trainer.train(&mut model).map_err(|e| refuse(e.to_string()))?;
    super::build(of_library(&model)?)
}

/// What learning takes is about the words that differ, each of which is kept once: they are
/// counted, and more is not begun than there is memory for.
fn require_memory(text: &[u8], vocab_size: usize, splitter: &Splitter) -> Result<()> {
    let (mut words, mut bytes) = (HashSet::new(), 0);
    for piece in pieces(text, Words::Gpt2) {
        memory::require(words.len() as u64 * COUNTED_MEMORY)?;
        for chunk in piece.utf8_chunks() {
            let new = splitter.words(chunk.valid()).filter(|&word| words.insert(word));
            bytes += new.map(|word| word.len() as u64).sum::<u64>();
        }
    }
    drop(words);
    let tokens = bytes.min(vocab_size as u64);
    memory::require(AT_LEAST + bytes * BYTE_MEMORY + tokens * TOKEN_MEMORY)
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
